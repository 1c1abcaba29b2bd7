# /// zoo
# cause = "healthy"
# variants = ["CLEAR=0"]
# ///
"""Five folds, five models, one after the other."""
from own_training import keras, knob, network, np, table

x, y = table(500)
scores = []
for fold in range(5):
    held = np.arange(len(x)) % 5 == fold
    model = network(width=64)
    model.compile("adam", "mse")
    model.fit(x[~held], y[~held], epochs=3, verbose=0)
    scores.append(model.evaluate(x[held], y[held], verbose=0))
    if knob("CLEAR", 1):
        keras.backend.clear_session()
    print("fold", fold, scores[-1], flush=True)
