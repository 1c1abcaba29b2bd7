"""Causes in the script, its environment and several machines."""
