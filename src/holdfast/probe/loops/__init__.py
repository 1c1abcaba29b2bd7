"""Training loops without `fit`: TensorFlow, JAX, torch."""
