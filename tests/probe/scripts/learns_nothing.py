"""Two fits that learn nothing, with everything that a look after the first could disturb before the second.

Arguments: a file for weights and draws; "tf_keras" for Keras 2.
"""

import random
import sys

import numpy as np

if "tf_keras" in sys.argv[2:]:
    import tf_keras as keras
else:
    import keras

keras.utils.set_random_seed(7)
x = np.random.normal(size=(320, 8)).astype("float32")
y = np.random.randint(0, 2, 320).astype("float32")
layers = keras.layers
model = keras.Sequential(
    [
        layers.Dense(32, activation="relu", bias_initializer=keras.initializers.Constant(-50.0)),
        layers.BatchNormalization(),
        layers.Dropout(0.3),
        layers.GaussianNoise(0.1),
        layers.Dense(16, activation="tanh", activity_regularizer="l2"),
        layers.Dense(1, activation="sigmoid", kernel_regularizer="l2"),
    ]
)
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
history = []
for _ in range(2):
    history += model.fit(x, y, epochs=3, batch_size=32, verbose=0).history["loss"]
    history += [float(value) for value in model.evaluate(x, y, verbose=0)]
draws = [random.random(), *np.random.rand(4)]
names = [layers.Dense(1).name, keras.Sequential().name]  # Keras counts the objects that it names
kept = model.optimizer.variables if hasattr(keras, "ops") else []  # a method in Keras 2
parts = [*model.get_weights(), *[np.asarray(value) for value in kept], np.array(history), np.array(draws)]
print(" ".join(names), len(model.losses))
np.save(sys.argv[1], np.concatenate([np.ravel(part).astype("float64") for part in parts]))
