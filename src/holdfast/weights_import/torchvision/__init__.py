"""torchvision's detectors: state dicts without torch, their names here, and the public files."""
