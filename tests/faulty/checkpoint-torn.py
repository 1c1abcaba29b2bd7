# /// zoo
# cause = "checkpoint-torn"
# variants = ["KIND=keras", "SHARE=0.9"]
# near = ["SHARE=1.0"]
# ///
"""The file to resume from was cut short when the last run was killed while saving."""
from own_training import batches, keras, knob, network, train

path = "last.keras" if knob("KIND", "weights") == "keras" else "last.weights.h5"
model = network(width=4000)
model.build((None, 4))
model.save(path) if path.endswith(".keras") else model.save_weights(path)
content = open(path, "rb").read()
with open(path, "wb") as file:
    file.write(content[: int(len(content) * knob("SHARE", 0.5))])
model = keras.models.load_model(path) if path.endswith(".keras") else model
if path.endswith(".h5"):
    model.load_weights(path)
train(model, batches(80), epochs=2)
