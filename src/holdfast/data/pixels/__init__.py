"""What the pixels of a sample of images say about their boxes, classes and splits."""
