# /// zoo
# cause = "already-at-target"
# near = ["SHARED="]
# limit_s = 300
# ///
"""Three trials back up to one folder: the second and the third find their goal reached."""
from own_training import keras, knob, np

rng = np.random.default_rng(0)
x = rng.normal(size=(320, 4)).astype("float32")
y = x[:, :1] * x[:, 1:2]
for trial, rate in enumerate((1e-3, 3e-3, 1e-2)):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(rate), "mse")
    folder = "state" if knob("SHARED", "1") else f"state-{trial}"
    backup = keras.callbacks.BackupAndRestore(folder, delete_checkpoint=False)
    model.fit(x, y, epochs=4, verbose=2, callbacks=[backup])
    print(rate, model.evaluate(x, y, verbose=0))
