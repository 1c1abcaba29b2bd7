"""Causes in callbacks, stopping, resuming and what is trained."""
