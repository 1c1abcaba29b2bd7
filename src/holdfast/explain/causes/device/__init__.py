"""Causes in the use of a GPU and its memory."""
