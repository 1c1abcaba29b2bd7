"""Causes in the weights: units that are dead or saturated, gradients that vanish, steps too small or too few."""
