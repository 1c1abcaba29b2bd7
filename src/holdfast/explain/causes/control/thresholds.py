"""Numbers that decide about stopping, resuming and learning rates.

Chosen on the test programs unless a reason is given.
"""

#: A learning rate below this share of its highest value is next to nothing.
NEXT_TO_NOTHING = 1e-3
#: Epochs, or steps of a loop, below which a learning rate is not judged.
FEWEST_EPOCHS, FEWEST_STEPS = 3, 100
#: Share of the planned epochs that a low learning rate may take at the end. A schedule is meant to come down, so it may
#: take half of them; a callback that reduces on a plateau may not.
LOW_AT_THE_END, LOW_AT_THE_END_OF_A_SCHEDULE = 0.2, 0.5
#: Losses of single steps from which a loop's batches are compared, the share by which the losses of batches differ that
#: have gradients of their own, and the share of its first value below which a loss has come to rest.
FEWEST_LOSSES, DIFFER, AT_REST = 8, 0.01, 0.1
#: A loss that fell by this share since the learning rate was low shows that it was not too low.
STILL_LEARNS = 0.02

#: Steps of a fit after which unchanged weights are no matter of a short warm-up.
FEWEST_STEPS_OF_A_FIT = 3

#: Share of the weights below which what is trainable is little: a new head on a frozen backbone has a few percent.
LITTLE_TRAINABLE = 0.01

#: Samples, and seconds without output, below which a silent run is not worth mentioning.
FEWEST_SAMPLES, QUIET_S = 5, 20.0
#: It still moves: a step was done within this many seconds, or this share of the quiet time.
MOVED_WITHIN_S, MOVED_WITHIN_SHARE = 10.0, 0.2
