"""The Object Detection API: its pipeline.config as a recipe, its checkpoints as model files."""
