# /// zoo
# cause = "disk-full"
# tmpfs_mib = 4
# quick = true
# variants = ["KIND=keras", "KIND=checkpoint LOOP=custom", "KIND=numpy", "KIND=backup"]
# near = ["WIDTH=8"]
# ///
"""Saves to a disk that is full."""
from own_training import batches, keras, knob, network, np, tf, train

kind, width = knob("KIND", "weights"), knob("WIDTH", 200_000)
model = network(width=width)
model.build((None, 4))
saver = []
if kind in ("weights", "keras"):
    ending = ".weights.h5" if kind == "weights" else ".keras"
    saver = [keras.callbacks.ModelCheckpoint(f"small/epoch-{{epoch}}{ending}", save_weights_only=kind == "weights")]
elif kind == "backup":
    saver = [keras.callbacks.BackupAndRestore("small/backup")]


def save(epoch):
    if kind == "checkpoint":
        tf.train.Checkpoint(model=model).write(f"small/{epoch}")
    elif kind == "numpy":
        np.save(f"small/{epoch}.npy", model.get_weights()[0])


train(model, batches(80), epochs=4, callbacks=saver, on_epoch=save)
