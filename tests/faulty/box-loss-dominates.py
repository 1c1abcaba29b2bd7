# /// zoo
# cause = "box-loss-dominates"
# variants = ["LOOP=custom"]
# near = ["SCALE=128"]
# limit_s = 300
# ///
"""Boxes in pixels with a squared error, and class labels with a cross-entropy: the sum of the two knows only boxes."""
from own_boxes import rectangles, trunk
from own_training import keras, knob, tf

scale = knob("SCALE", 1)
images, boxes, ids = rectangles(count=400, side=128)
boxes = boxes / scale
inputs = keras.Input(images.shape[1:])
shared = keras.layers.Dense(16, activation="relu")(keras.layers.Flatten()(trunk(inputs)))
model = keras.Model(inputs, {"corners": keras.layers.Dense(4, name="corners")(shared), "kind": keras.layers.Dense(3, activation="softmax", name="kind")(shared)})
if knob("LOOP", "fit") == "fit":
    model.compile(keras.optimizers.SGD(0.01, clipnorm=1.0), {"corners": "mse", "kind": "sparse_categorical_crossentropy"})
    model.fit(images, {"corners": boxes, "kind": ids}, epochs=12, verbose=2)
else:
    class Detector(keras.Model):
        def call(self, x):
            return model(x)

        def train_step(self, batch):
            x, y = batch
            with tf.GradientTape() as tape:
                answer = model(x, training=True)
                box = tf.reduce_mean(tf.square(answer["corners"] - y["corners"]))
                kind = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y["kind"], answer["kind"]))
                total = box + kind
            self.optimizer.apply_gradients(zip(tape.gradient(total, model.trainable_variables), model.trainable_variables))
            return {"loss": total, "reg_loss": box, "cls_loss": kind}

    detector = Detector()
    detector.compile(keras.optimizers.SGD(0.01, clipnorm=1.0))
    detector.fit(images, {"corners": boxes, "kind": ids}, epochs=8, verbose=2)
