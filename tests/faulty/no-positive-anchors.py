# /// zoo
# cause = "no-positive-anchors"
# variants = ["LOOP=custom", "SIZE=3"]
# near = ["SIZE=40"]
# limit_s = 300
# ///
"""No anchor is close to any box, so the box part of the loss is exactly nothing at every step."""
from own_training import keras, knob, np, tf

size = knob("SIZE", 4)
random = np.random.default_rng(0)
pictures = random.random((160, 64, 64, 3), "float32")
anchors = tf.constant([[x, y, x + 32, y + 32] for y in range(0, 64, 16) for x in range(0, 64, 16)], tf.float32)
corner = random.uniform(0, 24, (160, 2))
boxes = np.concatenate([corner, corner + size], axis=1).astype("float32")
layers = keras.layers
inputs = keras.Input((64, 64, 3))
trunk = layers.Conv2D(8, 3, strides=16, padding="same", activation="relu")(inputs)
box_head = layers.Reshape((16, 4), name="box")(layers.Conv2D(4, 1)(trunk))
class_head = layers.Reshape((16, 1), name="class")(layers.Conv2D(1, 1)(trunk))
model = keras.Model(inputs, {"box": box_head, "class": class_head})


def overlap(truth):
    low, high = tf.maximum(truth[:, None, :2], anchors[None, :, :2]), tf.minimum(truth[:, None, 2:], anchors[None, :, 2:])
    shared = tf.reduce_prod(tf.maximum(high - low, 0.0), -1)
    return shared / (tf.reduce_prod(truth[:, 2:] - truth[:, :2], -1)[:, None] + 32.0 * 32.0 - shared)


def targets(picture, truth):
    positive = tf.cast(overlap(truth) > 0.3, tf.float32)
    coded = (truth[:, None] - anchors[None]) / 32.0
    return picture, {"box": tf.concat([coded, positive[..., None]], -1), "class": positive[..., None]}


def box_loss(truth, predicted):
    return tf.reduce_sum(tf.abs(truth[..., :4] - predicted) * truth[..., 4:], axis=(1, 2))


def class_loss(truth, predicted):
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(truth, predicted), axis=(1, 2))


data = tf.data.Dataset.from_tensor_slices((pictures, boxes)).batch(8).map(targets)
if knob("LOOP", "fit") == "fit":
    model.compile("adam", {"box": box_loss, "class": class_loss})
    model.fit(data, epochs=4, verbose=2)
else:
    class Detector(keras.Model):
        def train_step(self, batch):
            x, y = batch
            with tf.GradientTape() as tape:
                predicted = model(x, training=True)
                parts = {name: tf.reduce_mean(part(y[name], predicted[name])) for name, part in (("box", box_loss), ("class", class_loss))}
                total = parts["box"] + parts["class"]
            self.optimizer.apply_gradients(zip(tape.gradient(total, model.trainable_variables), model.trainable_variables))
            return {"loss": total, "box_loss": parts["box"], "class_loss": parts["class"]}

        def call(self, x):
            return model(x)

    detector = Detector()
    detector.compile("adam")
    detector.fit(data, epochs=4, verbose=2)
