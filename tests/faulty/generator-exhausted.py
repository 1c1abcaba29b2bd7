# /// zoo
# cause = "generator-exhausted"
# quick = true
# variants = ["COUNT=24 STEPS=10", "COUNT=30"]
# near = ["COUNT=0 STEPS=12", "EPOCHS=1"]
# ///
"""A Python generator ends with the first epoch; the later ones train its first two batches over and over."""
from own_training import knob, network, np

count, steps = knob("COUNT", 12), knob("STEPS", 0)


def examples():
    random = np.random.default_rng(knob("SEED", 0))
    number = 0
    while not count or number < count:
        x = random.normal(size=(8, 4)).astype("float32")
        yield x, x.sum(axis=1, keepdims=True)
        number += 1


model = network()
model.compile("sgd", "mse")
model.fit(examples(), epochs=knob("EPOCHS", 4), steps_per_epoch=steps or None, verbose=2)
