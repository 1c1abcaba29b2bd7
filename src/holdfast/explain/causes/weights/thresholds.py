"""Numbers that decide about units, gradients and updates. Chosen on the test programs unless a reason is given."""

#: Share of a layer's units that give zero for every row. Trained ReLU networks have up to two thirds of them idle.
DEAD = 0.9
#: Share of a layer's values at a limit of its activation, for nearly all rows.
SATURATED = 0.9

#: Gradient of the first kernel against the last one's, each against its weights. Of a healthy network, however deep,
#: they lie within a factor of a hundred; sigmoids divide it by four or more a layer.
VANISHED, EXPLODED = 1e-4, 1e4
#: Of its size: weights that moved by less in a whole fit have not moved.
UNMOVED = 1e-4
#: Kernels below which depth is no reason.
FEWEST_KERNELS = 3
#: A gradient so large against the weights that one step of plain descent at 0.01 would replace them.
LARGE_GRADIENT = 100.0
#: Times the loss of a constant answer: no scale of the targets brings it there.
FAR_ABOVE_CONSTANT = 10.0
#: The same, for a model that could give the constant answer: it has not come to that yet.
ABOVE_CONSTANT = 1.5

#: Change of a step against the weights. About 1e-3 is what trains (a rule of thumb by Karpathy); far below
#: it the loss does not move within an ordinary training.
SMALL_STEP = 1e-4
#: Weights that moved by less than this share of their size in a whole fit are the ones it began with.
HARDLY_MOVED = 0.02
#: A loss that fell by less over a whole fit fell imperceptibly.
IMPERCEPTIBLE = 0.1
#: Learning rates below which a rate may be the reason: a tenth of what each optimizer has by default; Adadelta is meant
#: to run at 1, and Keras gives it 0.001.
LOW_RATES = {"adadelta": 0.1, "sgd": 1e-3, "adagrad": 1e-3}
LOW_RATE = 1e-4
FEWEST_STEPS = 20

#: Rows of a batch that say nothing about their mean and variance.
SMALL_BATCH = 2
#: Times that the loss of the same rows is larger as the model predicts than as it trains.
WORSE_IN_INFERENCE = 3.0
#: Share of the loss of a constant answer from which the model predicts no better than that. That of a softened loss is
#: a little below the one of the labels.
AS_GOOD_AS_CONSTANT = 0.97
#: Share of a moving average that is what it began with: the larger part.
LEFT_OF_FIRST = 0.5
#: From the mean of the batches, in their standard deviations, and times their variance. At every layer once more: three
#: layers with averages that are off by a factor of 2.6 to 8 had 58 % of right answers instead of 98 %.
MEAN_OFF, VARIANCE_OFF = 1.0, 2.5
#: The same where nearly all of an average is what it began with, and it validates about as badly as a constant answer:
#: ten layers with variances off by a factor of 1.3 to 9 had 23 % of right answers instead of 99 %.
NEARLY_ALL_OF_FIRST, MEAN_OFF_AT_CHANCE, VARIANCE_OFF_AT_CHANCE = 0.9, 0.5, 2.0
#: Of the loss of a constant answer: a validation above it has learned little, as in `readings.course`.
VALIDATES_LIKE_CONSTANT = 0.85
#: Updates from which a training is meant. Keras' momentum of 0.99 is past its first half by then.
UPDATES_MEANT = 100
#: Epochs from which a training is meant: one or two are a trial.
EPOCHS_MEANT = 3

#: Updates within which a fresh network learns little, and ones within which it may still be under way.
FEW_UPDATES, UNFINISHED_UPDATES = 100, 1000
#: A handful of updates, after which the loss is above this share of that of a constant answer.
HANDFUL_OF_UPDATES, NEAR_CONSTANT = 20, 0.75
#: Times the loss of a constant answer that a fresh network has at most in its first batches. Chosen.
FRESH_LOSS = 2.0
#: A loss that falls by this share from the middle of the training to its end is still on its way.
STILL_FALLING = 0.1

#: Share of values that dropout leaves, over layers in a row, and the loss without it against the one with it.
LEFT_BY_DROPOUT, BETTER_WITHOUT = 0.2, 0.8
#: From its middle to its end, a loss that changes by less is flat.
FLAT_LATE = 0.02
#: Steps of a loop with dropout, before which it may still be under way. Chosen.
FEWEST_STEPS_WITH_DROPOUT = 100
#: The same for dropout of the outputs themselves.
FAR_BETTER_WITHOUT = 0.5
#: Share of the loss that is a penalty, and of their first size to which weights shrink under it.
PENALTY_SHARE, SHRUNK_TO = 0.5, 0.05

#: Norms of gradients at some steps that are the same but for rounding: they were clipped. A scale from which
#: clipping to an ordinary norm leaves nothing of them; GradScaler begins at 65536.
FEWEST_NORMS, SAME_NORM, LARGE_SCALE = 3, 1.005, 256.0
