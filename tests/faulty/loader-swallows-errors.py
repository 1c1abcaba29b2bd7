# /// zoo
# cause = "loader-swallows-errors"
# stall_after_s = 20
# variants = ["LOOP=custom", "KIND=plain"]
# near = ["SOME=1"]
# ///
"""The loader meets an error at every try, says nothing, and tries again."""
from own_training import knob, network, np, tf, train


def read(number):
    if number >= knob("AFTER", 30) and not (knob("SOME", 0) and number % 3):
        raise OSError("connection reset")
    return np.ones((8, 4), "float32"), np.ones((8, 1), "float32")


def examples():
    number = 0
    while number < 200:
        try:
            batch = read(number)
            number += 1
            yield batch
        except OSError:
            number += knob("SOME", 0)


if knob("KIND", "dataset") == "plain":
    train(network(), examples(), epochs=2)
else:
    shapes = (tf.TensorSpec((None, 4)), tf.TensorSpec((None, 1)))
    train(network(), tf.data.Dataset.from_generator(examples, output_signature=shapes), epochs=1)
