# /// zoo
# cause = "output-pipe-full"
# variants = ["HOW=stdin"]
# near = ["HOW=drained"]
# limit_s = 300
# ///
"""Talks to a helper program through pipes, and one of the two does not read what the other writes."""
import subprocess
import sys

from own_training import batches, knob, network, np, tf, train

how = knob("HOW", "stderr")
TALKS = "import sys\nfor number in range(40000): sys.stderr.write('deprecated: %d\\n' % number)\nprint('done')"
SLEEPS = "import time\ntime.sleep(600)"


def ask(path):
    helper = subprocess.Popen([sys.executable, "-c", TALKS], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if how == "drained":
        helper.communicate()
    else:
        helper.stdout.read()
    return np.ones((8, 4), "float32"), np.ones((8, 1), "float32")


def from_helper():
    for path in range(3):
        yield ask(path)


if how == "stdin":
    sink = subprocess.Popen([sys.executable, "-c", SLEEPS], stdin=subprocess.PIPE)
    train(network(), batches(8000), epochs=2, on_step=lambda step: sink.stdin.write(b"." * 400) and sink.stdin.flush())
else:
    shapes = (tf.TensorSpec((8, 4)), tf.TensorSpec((8, 1)))
    train(network(), tf.data.Dataset.from_generator(from_helper, output_signature=shapes), epochs=1)
