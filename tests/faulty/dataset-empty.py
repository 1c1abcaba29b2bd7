# /// zoo
# cause = "dataset-empty"
# quick = true
# variants = ["LOOP=custom", "HOW=glob", "HOW=filter", "HOW=validation"]
# near = ["HOW=one"]
# ///
"""There is nothing to train on, and training is done at once."""
from own_training import batches, knob, network, tf, train

how = knob("HOW", "take")
data = batches(80)
if how in ("take", "validation"):
    data = data.take(0)
elif how == "filter":
    data = data.unbatch().filter(lambda x, y: x[0] > 1e9).batch(8)
elif how == "glob":
    data = tf.data.TFRecordDataset(tf.io.gfile.glob("no-such-folder/*.tfrecord")).map(lambda r: (tf.ones((4,)), tf.ones((1,)))).batch(8)
else:
    data = data.take(1)
if how == "validation":
    train(network(), batches(160), epochs=3, validation_data=batches(160).skip(50))
    raise SystemExit
train(network(), data, epochs=3) if how == "one" or knob("LOOP", "fit") == "fit" else [print(x) for x in data]
