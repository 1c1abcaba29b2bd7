# /// zoo
# cause = "epoch-never-ends"
# explain_at_s = 25
# variants = ["HOW=generator", "HOW=dataset", "BATCH=4"]
# near = ["STEPS=1500"]
# ///
"""An endless dataset, and nobody says how many steps make an epoch."""
from own_training import batches, knob, network, np, ready, tf, time_passes, train

steps = knob("STEPS", 0)


def examples():
    while True:
        yield np.ones((8, 4), "float32"), np.ones((8, 1), "float32")


def on_step(step):
    time_passes(step)
    if step == 20:
        ready()


how = knob("HOW", "repeat")
data = examples() if how == "generator" else batches(80, knob("BATCH", 8)).repeat()
if how == "dataset":
    shapes = (tf.TensorSpec((None, 4)), tf.TensorSpec((None, 1)))
    data = tf.data.Dataset.from_generator(examples, output_signature=shapes).prefetch(2)
train(network(), data, epochs=3 if not steps else 1, on_step=on_step, **({"steps_per_epoch": steps} if steps else {}))
