"""Causes in the memory of a GPU."""
