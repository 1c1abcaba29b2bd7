# /// zoo
# cause = "healthy"
# twice = true
# ///
"""BackupAndRestore stands by and has nothing to restore."""
from own_training import batches, keras, network

model = network()
model.build((None, 4))
model.compile("adam", "mse")
model.fit(batches(160), epochs=4, verbose=2, callbacks=[keras.callbacks.BackupAndRestore("backup")])
