"""Causes in the counting of steps and epochs."""
