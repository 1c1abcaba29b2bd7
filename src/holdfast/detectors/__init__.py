"""Detectors: the parts that they are made of, and SSD, RetinaNet and Faster R-CNN themselves."""
