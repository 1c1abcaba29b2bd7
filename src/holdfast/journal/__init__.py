"""The file format that the trainer, the probe and the supervisor share, and nothing else.

`events` are the lines of the journal, `writer` and `reader` write and read them, `beats` is the ring of heartbeats,
`stack_files` and `vitals` are the other records of a run folder, `folder` has the names of all files.
"""
