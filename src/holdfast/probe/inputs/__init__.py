"""Datasets and batches: tf.data graph and counters, statistics, bad files and boxes."""
