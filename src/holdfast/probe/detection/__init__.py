"""What the targets and answers of a detector show: boxes, ids of classes, cells of a grid."""
