"""The file format that the trainer, the probe and the supervisor share, and nothing else.

`events` is the vocabulary, `writer` and `reader` are the JSON lines, `beats` is the ring of
heartbeats, `stacks` and `vitals` are the two other records of a run's folder, `folder` names them all.
"""
