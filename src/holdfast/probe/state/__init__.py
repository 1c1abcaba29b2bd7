"""What the probe knows of fits, models and loops."""
