# /// zoo
# cause = "nothing-trainable"
# variants = ["EPOCHS=8", "LOOP=eager"]
# near = ["HEAD=1"]
# ///
"""Everything is frozen."""
from own_training import batches, keras, knob, network, tf

model = network()
model.build((None, 4))
model.trainable = False
if knob("HEAD", 0):
    model = keras.Sequential([model, keras.layers.Dense(1)])
if knob("LOOP", "fit") == "eager":
    rule = keras.optimizers.Adam()
    for x, y in batches(160):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        rule.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
model.compile("sgd", "mse")
model.fit(batches(160), epochs=knob("EPOCHS", 4), verbose=2)
