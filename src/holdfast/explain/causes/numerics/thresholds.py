"""Numbers that decide about losses and gradients. Chosen on the test programs unless another reason is given."""

#: Where float16 ends, with room for a few more doublings: a loss beyond it had left the range of float16 long before.
FAR_BEYOND_FLOAT16 = 1e6

#: A loss below this is as good as 0, so that a multiple of it says nothing.
TINY_LOSS = 1e-6

#: A finite loss that grew so far does not come back: no schedule of loss weights and no curriculum makes so much of it.
GREW_BEYOND = 1e4
#: And it is this large: a part of the loss that is switched on later turns almost nothing into an ordinary loss.
LARGE_LOSS = 1e3
#: Logged losses, and steps between them, below which growth is not judged.
FEWEST_LOSSES, FEWEST_STEPS_BETWEEN = 6, 5
#: A loss that was never seen small: so large from its first record on, at a learning rate above any that is in use
#: (Adadelta's is 1). The loss of unscaled targets alone may be as large.
HUGE_LOSS, HIGHEST_LEARNING_RATE = 1e6, 1.0
#: Losses at either end that are taken together, so that one outlier does not decide.
LOSSES_AT_THE_ENDS = 3

#: Growth over the last steps before a break, in multiples of the usual loss; each of them is above the one before.
ROSE_STEADILY = 20
#: Two losses alone show growth when the second is so many times the first.
ROSE_AT_ONCE = 1e3

#: Epochs and steps before a flat loss is more than a slow start.
FEWEST_EPOCHS, FEWEST_STEPS = 5, 100
#: A loss that fell below this share of its first value has fallen.
FELL_TO = 0.98
#: Flat: the spread of all epochs, as a share of the first loss. Above it a noisy plateau is possible.
FLAT_SPREAD = 0.005
#: Losses nearer to 0 than this are at their floor, and accuracy above this has been reached: nothing is left to learn.
AT_THE_FLOOR, HIGH_ACCURACY = 1e-3, 0.9
#: Steps of a fit after which unchanged weights are no matter of a short warm-up.
FEWEST_STEPS_OF_A_FIT = 20

#: A loop without epochs: one loss value, to the last digit, at so many steps, over so many steps, until so late in
#: the run, among so many distinct values. A batch that returns has its old loss only when no weight changed.
SAME_LOSS_TIMES, SAME_LOSS_OVER_STEPS, SAME_LOSS_UNTIL, DISTINCT_LOSSES = 4, 100, 0.7, 8

#: Share of the weights that a step replaces: about a thousandth trains, and from a tenth on what was learned is lost.
LEAP = 0.1
#: Steps below which it may still be on its way. Chosen.
STEPS_TO_SETTLE = 100
#: Times the first loss, or that of a constant answer, that a spike reaches, and above which it then stays.
SPIKED, ABOVE_CONSTANT = 10.0, 1.05

#: Share of the loss of a constant answer above which a loss sits at it.
AT_CONSTANT = 0.97
#: By how much the labels of the most similar rows agree beyond chance, from which they depend on the inputs. Chosen.
LABELS_DEPEND = 0.15

#: Losses that a fact quotes.
QUOTED_LOSSES = 6
