"""The public examples and guides of keras.io under `holdfast run`: none may be blamed."""
