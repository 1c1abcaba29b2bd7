# /// zoo
# cause = "already-at-target"
# twice = true
# ///
"""The job is submitted a second time; the restored counter is already at the last epoch."""
import numpy as np
import tensorflow as tf

EPOCHS = 4
x = np.random.RandomState(0).rand(128, 5).astype("float32")
y = x.sum(axis=1, keepdims=True)


def main():
    model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.build((None, 5))
    epoch = tf.Variable(0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model, epoch=epoch), "ckpt", max_to_keep=2)
    if manager.latest_checkpoint:
        manager.checkpoint.restore(manager.latest_checkpoint).expect_partial()
        print("restored", manager.latest_checkpoint)

    def keep(number, logs):
        epoch.assign(number + 1)
        manager.save()

    saver = tf.keras.callbacks.LambdaCallback(on_epoch_end=keep)
    model.fit(x, y, epochs=EPOCHS, initial_epoch=int(epoch.numpy()), callbacks=[saver], verbose=2)


main()
