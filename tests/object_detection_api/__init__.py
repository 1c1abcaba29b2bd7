"""The Object Detection API's own program, `model_main_tf2.py`, healthy and faulty, under `holdfast run`."""
