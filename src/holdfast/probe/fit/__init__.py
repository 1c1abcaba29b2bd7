"""Keras `fit`: trainer, callbacks, batches, stops, saves, losses."""
