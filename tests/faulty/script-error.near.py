# /// zoo
# cause = "healthy"
# not_blamed = "script-error"
# ///
"""Tries a batch size that does not work, catches the error and goes on."""
from own_training import batches, network, np, train

model = network()
model.compile("sgd", "mse")
for columns in (3, 4):
    try:
        model.fit(np.ones((64, columns)), np.ones((63 + (columns == 4), 1)), epochs=2, verbose=2)
        break
    except ValueError as error:
        print("did not work, next:", str(error)[:60])
train(network(), batches(160), epochs=2)
