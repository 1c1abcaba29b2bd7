"""COCO and VOC metrics of detections, and what the false ones are."""
