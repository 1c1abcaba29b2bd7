# /// zoo
# cause = "healthy"
# twice = true
# ///
"""Goes on where the last run ended, with the whole state."""
import os

from own_training import batches, keras, network

keras.utils.set_random_seed(3)
begin = 3 if os.path.exists("last.keras") else 0
model = keras.models.load_model("last.keras") if begin else network()
if not begin:
    model.compile("adam", "mse")
model.fit(batches(160), initial_epoch=begin, epochs=begin + 3, verbose=2)
model.save("last.keras")
