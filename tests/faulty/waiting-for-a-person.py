# /// zoo
# cause = "waiting-for-a-person"
# stdin = "open"
# stall_after_s = 15
# quick = true
# variants = ["LOOP=custom", "HOW=debugger"]
# ///
"""Asks a question that nobody is there to answer."""
from own_training import batches, knob, network, train


def ask(epoch):
    if epoch == 1 and knob("HOW", "input") == "debugger":
        breakpoint()
    elif epoch == 1 and input("Go on with the next epoch? [y/n] ") == "n":
        raise SystemExit


train(network(), batches(160), epochs=4, on_epoch=ask)
