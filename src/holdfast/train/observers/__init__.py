"""What watches a training: results.csv, TensorBoard, progress display, validation images, memory use."""
