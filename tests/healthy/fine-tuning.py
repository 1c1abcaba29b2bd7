# /// zoo
# cause = "healthy"
# limit_s = 300
# ///
"""A frozen base with a new head, then everything at a small rate."""
from own_training import keras, np

base = keras.applications.MobileNetV2(weights=None, include_top=False, input_shape=(32, 32, 3), alpha=0.35, pooling="avg")
base.trainable = False
model = keras.Sequential([base, keras.layers.Dense(2)])
x = np.random.default_rng(0).random((64, 32, 32, 3), "float32")
for rate, frozen in ((1e-3, True), (1e-5, False)):
    base.trainable = not frozen
    model.compile(keras.optimizers.Adam(rate), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(x, np.arange(64) % 2, batch_size=8, epochs=2, verbose=2)
