# /// zoo
# cause = "terminal-signal"
# send = {signal = "SIGINT", to = "program"}
# variants = ["LOOP=custom", "HOW=flag LOOP=batch"]
# near = ["HOW=ignored"]
# limit_s = 300
# ///
"""Is sent SIGINT, catches it, saves, and ends with exit code 0 long before its plan."""
import signal

from own_training import batches, knob, network, ready, time_passes, train

how = knob("HOW", "exception")
asked = []
if how != "exception":
    signal.signal(signal.SIGINT, lambda number, frame: asked.append(number))


class Enough(Exception):
    pass


def on_step(step):
    time_passes(step)
    if step == 100:
        ready()
    if asked and how == "flag":
        raise Enough


try:
    train(network(), batches(3200 if how == "ignored" else 40_000), epochs=3, on_step=on_step)
except (KeyboardInterrupt, Enough):
    print("stopped by hand; what is there is kept")
