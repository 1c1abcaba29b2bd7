"""The Object Detection API's detectors in its own arithmetic."""
