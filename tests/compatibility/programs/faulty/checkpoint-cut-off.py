# /// zoo
# cause = "checkpoint-torn"
# ///
"""The copy of a checkpoint was interrupted: its data file is only half there."""
import glob
import os

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(256, activation="relu"), tf.keras.layers.Dense(64)])
model.build((None, 128))
optimizer = tf.keras.optimizers.Adam(1e-3)
path = tf.train.Checkpoint(model=model).save("ckpt/model")
data = glob.glob(path + ".data-*")[0]
os.truncate(data, os.path.getsize(data) // 2)

fresh = tf.keras.Sequential([tf.keras.layers.Dense(256, activation="relu"), tf.keras.layers.Dense(64)])
fresh.build((None, 128))
tf.train.Checkpoint(model=fresh).restore(path).expect_partial()
fresh.compile(optimizer, "mse")
fresh.fit(tf.random.normal((64, 128)), tf.random.normal((64, 64)), epochs=2)
