# /// zoo
# cause = "disk-full"
# variants = ["KIND=keras", "KIND=checkpoint LOOP=custom"]
# near = ["MIB=64"]
# ///
"""Saves files that are larger than this process may write (ulimit -f)."""
import resource

from own_training import batches, keras, knob, network, tf, train

most = knob("MIB", 1) << 20
kind = knob("KIND", "weights")
model = network(width=100_000)
model.build((None, 4))
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
saver = []
if kind != "checkpoint":
    ending = ".weights.h5" if kind == "weights" else ".keras"
    saver = [keras.callbacks.ModelCheckpoint(f"epoch-{{epoch}}{ending}", save_weights_only=kind == "weights")]


def save(epoch):
    if kind == "checkpoint":
        tf.train.Checkpoint(model=model).write(f"kept-{epoch}")


train(model, batches(80), epochs=3, callbacks=saver, on_epoch=save)
