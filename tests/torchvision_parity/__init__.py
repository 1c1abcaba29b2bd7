"""torchvision's detectors and Holdfast's, with the same weights and images: `python -m tests.torchvision_parity`."""
