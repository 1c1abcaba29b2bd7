# /// zoo
# cause = "epoch-never-ends"
# explain_at_s = 100
# variants = ["HOW=break"]
# near = ["MOST=3000"]
# limit_s = 300
# ///
"""Trains until the loss is below a goal that it never comes near to."""
from own_training import keras, knob, np, ready, time_passes

goal, most, how = 1e-6, knob("MOST", 0), knob("HOW", "while")
random = np.random.default_rng(0)
x, y = random.random((64, 4), "float32"), random.random((64, 1), "float32")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.2), "mse")
ready()


def once():
    time_passes(0)
    return float(np.mean(model.train_on_batch(x, y)))


def until_good():
    value = 1.0
    while value > goal:
        value = once()


def until_it_breaks():
    while True:
        value = once()
        if value < goal:
            break


def with_a_count():
    count = 0
    while count < most and once() > goal:
        count += 1


(with_a_count if most else until_it_breaks if how == "break" else until_good)()
