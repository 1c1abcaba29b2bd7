# /// zoo
# cause = "disk-full"
# tmpfs_mib = 2
# variants = ["KIND=numpy LOOP=custom", "KIND=pickle LOOP=batch"]
# near = ["ELSEWHERE=1", "WIDTH=8"]
# ///
"""Saves to a disk that is full, catches the error, and goes on as if it had saved."""
import pickle

from own_training import batches, knob, network, np, train

model = network(width=knob("WIDTH", 200_000))
model.build((None, 4))


def save_at(place, epoch):
    if knob("KIND", "keras") == "keras":
        model.save(f"{place}/{epoch}.keras")
    elif knob("KIND", "keras") == "numpy":
        np.savez(f"{place}/{epoch}.npz", *model.get_weights())
    else:
        with open(f"{place}/{epoch}.pickle", "wb") as file:
            pickle.dump(model.get_weights(), file)


def save(epoch):
    for place in ["small", "."] if knob("ELSEWHERE", 0) else ["small"]:
        try:
            save_at(place, epoch)
            break
        except OSError:
            pass


train(model, batches(80), epochs=4, on_epoch=save)
