"""Causes in the model, the loss and the labels: training runs, and nothing is learned."""
