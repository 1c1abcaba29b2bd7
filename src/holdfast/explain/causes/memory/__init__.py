"""Causes in the memory of the host."""
