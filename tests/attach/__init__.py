"""`holdfast attach` on every program of the zoo that stalls: `python -m tests.attach`."""
