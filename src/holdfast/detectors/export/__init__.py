"""SavedModel, ONNX and TFLite files, and a check that they detect what the model detects."""
