"""The LR range test behind `holdfast lr-find`."""
