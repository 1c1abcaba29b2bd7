"""The compiled training step of each backend, its optimizer and its process group. Used by the trainer and by
memory prediction.
"""
