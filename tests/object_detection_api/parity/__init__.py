"""Imported models against the API's own, built from the same configurations under TensorFlow 2.15."""
