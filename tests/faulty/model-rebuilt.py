# /// zoo
# cause = "model-rebuilt"
# leads_to = "killed-for-memory"
# memory_mib = 1100
# limit_s = 300
# variants = ["LOOP=custom", "WIDTH=2500"]
# near = ["FOLDS=4 WIDTH=200", "FOLDS=8 WIDTH=200 CLEAR=1"]
# ///
"""Builds a new model for every fold and keeps the old ones alive."""
import gc

from own_training import batches, keras, knob, train

folds, width, clear = knob("FOLDS", 200), knob("WIDTH", 3000), knob("CLEAR", 0)
results = []
for fold in range(folds):
    layers = keras.layers
    model = keras.Sequential([layers.Dense(width), layers.Dense(width), layers.Dense(1)])
    train(model, batches(80), epochs=1, optimizer="adam")
    results.append((fold, None if clear or folds < 10 else model))
    if clear:
        del model
        keras.backend.clear_session()
        gc.collect()
