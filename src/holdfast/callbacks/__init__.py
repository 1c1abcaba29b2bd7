"""Callbacks of Keras and Lightning, for those who prefer three lines in the script to `holdfast run`."""
