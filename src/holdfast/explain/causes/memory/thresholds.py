"""Numbers that several rules about host memory compare with.

All are chosen: they separate the test programs that have a cause from those that only look like it. No
measurement on runs of other people is behind them.
"""

from __future__ import annotations

#: Share of the memory limit above which one buffer, full, explains by itself that memory ran out: the model, the
#: framework (0.5 to 1 GiB) and the other buffers take the rest.
MOST_OF_LIMIT = 0.5
#: Batches in a queue that are many. tf.data's AUTOTUNE and Keras's default (10) stay about there, and two are enough.
DEEP_QUEUE = 8
#: Share of the growth that one container must have grown by to be named as what keeps the memory: less than half,
#: because it is counted every few minutes and may have grown since.
EXPLAINS_GROWTH = 0.4
#: …and to be shown at all.
PART_OF_GROWTH = 0.1
