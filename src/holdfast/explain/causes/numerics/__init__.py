"""Causes in the numbers: losses, gradients, precision."""
