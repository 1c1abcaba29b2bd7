"""Detectors that were trained elsewhere, brought to Holdfast: torchvision's and the Object Detection API's."""
