# /// zoo
# cause = "memory-refused"
# limits = {v = 8000000}
# variants = ["HOW=numpy", "HOW=conv"]
# near = ["HOW=caught"]
# ///
"""Asks for more than its address space may hold: the allocation is refused, the process not killed."""
from own_training import batches, keras, knob, network, np, tf, train

how = knob("HOW", "tensor")
train(network(), batches(80), epochs=1)
if how == "numpy":
    np.ones((5000, 512, 512, 3), "float32")
elif how == "conv":
    keras.layers.Conv2D(256, 3, padding="same")(tf.ones((64, 512, 512, 3)))
elif how == "caught":
    try:
        np.ones((5000, 512, 512, 3), "float32")
    except MemoryError:
        train(network(), batches(400), epochs=2)
else:
    print(float(tf.reduce_sum(tf.random.normal((64, 512, 512, 256)))))
