"""`holdfast demo`, and the failures that it injects."""
