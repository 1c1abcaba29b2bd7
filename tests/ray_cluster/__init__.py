"""Data jobs and a training on a Ray cluster of two nodes on this machine."""
