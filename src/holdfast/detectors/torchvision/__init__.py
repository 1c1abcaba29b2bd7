"""torchvision's detectors in its own arithmetic, layer names included."""
