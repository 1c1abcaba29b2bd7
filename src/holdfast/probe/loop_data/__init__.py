"""What a loop of the user's own trains on and computes: batches, activations, gradients, the model of its optimizer."""
