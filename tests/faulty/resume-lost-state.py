# /// zoo
# cause = "resume-lost-state"
# twice = true
# variants = ["EPOCHS=6"]
# near = ["WHOLE=1"]
# ///
"""Goes on from saved weights in a fresh model: its optimizer is not built yet, so its state is left behind."""
from pathlib import Path

from own_training import batches, keras, knob, network

whole = knob("WHOLE", 0)
path = Path("last.keras" if whole else "last.weights.h5")
begin = 2 if path.exists() else 0
if whole and begin:
    model = keras.models.load_model(path)
else:
    model = network()
    model.build((None, 4))
    model.compile("adam", "mse")
    if begin:
        model.load_weights(path)
model.fit(batches(160), epochs=begin + knob("EPOCHS", 3), initial_epoch=begin, verbose=2)
if whole:
    model.save(path)
else:
    model.save_weights(path)
