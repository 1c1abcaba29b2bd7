# /// zoo
# cause = "script-error"
# quick = true
# variants = ["LOOP=custom", "HOW=shape", "HOW=import"]
# near = ["CATCH=1"]
# ///
"""A plain mistake in the script."""
from own_training import batches, knob, network, tf, train

how = knob("HOW", "after")
if how == "import":
    import no_such_module_at_all
data = batches(160)
if how == "shape":
    data = data.map(lambda x, y: (tf.reshape(x, (5, 3)), y))
train(network(), data, epochs=2)
try:
    print("final", results["loss"])
except NameError:
    if not knob("CATCH", 0):
        raise
