"""Images and boxes to batches: read, decode, augment, batch; a position in the data is one integer.

Import what is needed from its module: `stream.Stream`, `source.read`, `settings.Feed`. Nothing is imported
here, because TensorFlow takes seconds to load.
"""
