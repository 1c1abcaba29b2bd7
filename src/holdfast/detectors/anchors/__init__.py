"""Anchors: the grid, defaults, fitting to a dataset, matching, sampling, letterboxing."""
