"""A small model that finds the GPU full: `python held_by_others.py hold` is the other program."""

import os
import sys
import time

if sys.argv[1:] == ["hold"]:
    import torch

    free, _ = torch.cuda.mem_get_info()
    held = torch.zeros(int(free * 0.985) // 4, device="cuda")
    print("held", flush=True)
    time.sleep(300)

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

model = keras.Sequential(
    [keras.Input((512, 512, 3)), keras.layers.Conv2D(256, 3), keras.layers.Conv2D(256, 3)]
)
model.add(keras.layers.GlobalAveragePooling2D())
model.add(keras.layers.Dense(1))
model.compile("adam", "mse")
model.fit(
    np.zeros((64, 512, 512, 3), np.float32), np.zeros((64, 1), np.float32), batch_size=32, epochs=2, verbose=2
)
