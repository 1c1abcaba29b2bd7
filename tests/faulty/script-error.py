# /// zoo
# cause = "script-error"
# quick = true
# variants = ["LOOP=custom", "HOW=shape", "HOW=import", "HOW=swallowed", "HOW=exit", "HOW=os-exit"]
# near = ["CATCH=1"]
# ///
"""A plain mistake in the script; `swallowed`: it catches what leaves `fit` and goes on; or it ends itself without a word."""
import os
import sys

from own_training import batches, knob, network, tf, train

how = knob("HOW", "after")
if how == "import":
    import no_such_module_at_all
data = batches(160)
if how == "shape":
    data = data.map(lambda x, y: (tf.reshape(x, (5, 3)), y))
if how == "swallowed":
    model = network()
    model.build((None, 9))
    try:
        train(model, data, epochs=2)
    except Exception as error:
        print("skipped:", type(error).__name__)
    sys.exit()
train(network(), data, epochs=2)
if how == "exit":
    sys.exit("the gate of quality is shut")
if how == "os-exit":
    os._exit(3)
try:
    print("final", results["loss"])
except NameError:
    if not knob("CATCH", 0):
        raise
