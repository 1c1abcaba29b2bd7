"""Numbers that several rules about host memory compare with.

All are chosen: they separate the test programs that have a cause from those that only look like it. No
measurement on runs of other people is behind them.
"""

#: Batches from which a queue is deep enough to be looked at; two are enough for a steady pipeline.
DEEP_QUEUE = 8
#: Share of the growth that one container must have grown by to be named as what keeps the memory: less than half,
#: because containers are measured now and then, and may have grown since.
EXPLAINS_GROWTH = 0.4
#: …and to be shown at all.
PART_OF_GROWTH = 0.1
