"""Trains a recorded model again for seconds, in a process of its own with the Python of the run."""
