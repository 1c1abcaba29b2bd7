"""What decides whether a model can learn: its layers, its output and loss, samples of values, weights that move."""
