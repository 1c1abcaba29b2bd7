# /// zoo
# cause = "too-many-open-files"
# limits = {n = 160}
# variants = ["LOOP=custom", "HOW=tfdata"]
# near = ["LEAK=0"]
# ///
"""Opens a file at every step and closes none."""
from pathlib import Path

from own_training import batches, knob, network, tf, train

Path("label.txt").write_text("1")
opened = []


def look(step):
    file = open("label.txt")
    if knob("LEAK", 1):
        opened.append(file)
    else:
        file.close()


data = batches(4000)
if knob("HOW", "python") == "tfdata":
    for number in range(400):
        Path(f"{number}.txt").write_text("1")
    files = tf.data.Dataset.range(400).interleave(
        lambda n: tf.data.TextLineDataset(tf.strings.as_string(n) + ".txt").repeat(), cycle_length=400, num_parallel_calls=2
    )
    data = files.map(lambda line: (tf.ones((4,)), tf.strings.to_number(line)[None])).batch(8).take(200)
train(network(), data, epochs=2, on_step=look if knob("HOW", "python") == "python" else None)
