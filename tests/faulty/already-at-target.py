# /// zoo
# cause = "already-at-target"
# variants = ["EPOCHS=12 DONE=12", "LOOP=custom"]
# near = ["DONE=3"]
# twice = true
# ///
"""A resumed training that is at its goal already: no step is done, and all is well to look at."""
from pathlib import Path

from own_training import batches, keras, knob, network, tf

epochs, done = knob("EPOCHS", 5), knob("DONE", 5)
state = Path("last.keras")
model = keras.models.load_model(state) if state.exists() else network()
begin = done if state.exists() else 0
if not state.exists():
    model.compile("sgd", "mse")
if knob("LOOP", "fit") == "fit":
    model.fit(batches(80), epochs=epochs, initial_epoch=begin, verbose=2)
else:
    for _epoch in range(begin, epochs):
        for x, y in batches(80):
            model.train_on_batch(x, y)
model.save(state)
