"""Causes in the supply and the content of the data."""
