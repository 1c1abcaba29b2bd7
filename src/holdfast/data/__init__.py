"""Datasets: read in six formats, checked, converted, repaired and looked at, without TensorFlow."""
