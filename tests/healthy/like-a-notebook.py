# /// zoo
# cause = "healthy"
# ///
"""Cells run one after the other through `exec`, some of them twice."""
cells = [
    "from own_training import batches, keras, network",
    "model = network()\nmodel.compile('sgd', 'mse')",
    "history = model.fit(batches(160), epochs=2, verbose=2)",
    "history = model.fit(batches(160), epochs=2, verbose=2)",
    "print(history.history['loss'])",
]
space = {}
for number in (0, 1, 2, 1, 3, 4):
    exec(compile(cells[number], f"<cell {number}>", "exec"), space)
