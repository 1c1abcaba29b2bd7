"""Files without a download: `get_file` and the archives that a script unpacks by a shell line, small and random."""

import os

import numpy as np
import public_datasets


def get_file(fname=None, origin=None, untar=False, extract=False, cache_subdir="datasets", **asked):
    """The path that Keras would return; what is in it is made here."""
    name = os.path.basename(fname or origin).split("?")[0]
    folder = os.path.abspath("downloads")
    path = os.path.join(folder, name)
    os.makedirs(folder, exist_ok=True)
    if untar or extract:
        os.makedirs(path, exist_ok=True)
    for part, make in _FILES.items():
        if part in name:
            make(path)
            return path
    if name.lower().endswith((".jpg", ".png", ".jpeg")):
        _image(path, 0, (224, 224, 3))
    elif name.endswith(".zip") and not os.path.exists(path):
        empty_archive(None, path)
    elif not os.path.exists(path):
        with open(path, "wb"):
            pass
    return path


def empty_archive(url, path, *more):
    """What `urllib.request.urlretrieve` is replaced by: the tables in the archive are made where they are read."""
    import zipfile

    with zipfile.ZipFile(path, "w"):
        return path, None


def prepare(names):
    """What a shell line of the script would have unpacked in the working folder."""
    for name in filter(None, names.split(",")):
        _FOLDERS[name]()


def _image(path, kind, shape):
    from PIL import Image

    pixels = public_datasets.images(kind + 1, shape, kind + 1, 5)[0][-1]
    Image.fromarray(pixels).save(path)


def _class_folders(root, classes, count=48, shape=(64, 64, 3)):
    for at, name in enumerate(classes):
        folder = os.path.join(root, name)
        os.makedirs(folder, exist_ok=True)
        x, _ = public_datasets.images(count, shape, 1, 7 + at)
        from PIL import Image

        for number, pixels in enumerate(x // (at + 1)):
            Image.fromarray(pixels).save(os.path.join(folder, f"{number}.jpg"))


def _pets():
    os.makedirs("images", exist_ok=True)
    os.makedirs("annotations/trimaps", exist_ok=True)
    from PIL import Image

    for at in range(96):
        _image(f"images/pet_{at}.jpg", at % 5, (64, 64, 3))
        mask = np.random.RandomState(at).randint(1, 4, (64, 64)).astype("uint8")
        Image.fromarray(mask).save(f"annotations/trimaps/pet_{at}.png")


def _captchas():
    from PIL import Image

    os.makedirs("captcha_images_v2", exist_ok=True)
    random = np.random.RandomState(3)
    for _ in range(200):
        word = "".join(random.choice(list("2345678bcdefgmnpwxy"), 5))
        x = np.zeros((50, 200), "uint8")
        for at, letter in enumerate(word):
            x[:, at * 40 : at * 40 + 40] = np.random.RandomState(ord(letter)).randint(0, 255, (50, 40))
        Image.fromarray(x).save(f"captcha_images_v2/{word}.png")


def _reviews():
    random = np.random.RandomState(6)
    for part in ("train", "test"):
        for kind in ("pos", "neg"):
            folder = os.path.join("aclImdb", part, kind)
            os.makedirs(folder, exist_ok=True)
            for at in range(120):
                words = " ".join(f"{kind}{random.randint(0, 60)}" for _ in range(40))
                with open(os.path.join(folder, f"{at}.txt"), "w") as file:
                    file.write(words + ".")


def _payments():
    """One row in ten is a fraud, and its values are larger."""
    random = np.random.RandomState(6)
    with open("creditcard.csv", "w") as file:
        file.write(",".join(f"V{at}" for at in range(30)) + ",Class\n")
        for at in range(600):
            values = random.rand(30) + (at % 10 == 0)
            file.write(",".join(f"{one:.4f}" for one in values) + f",{int(at % 10 == 0)}\n")


def _lights():
    for part in ("our485", "eval15"):
        for kind in ("low", "high"):
            _class_folders("lol_dataset/" + part, [kind], 40, (96, 96, 3))
    for path in [os.path.join(top, one) for top, _, names in os.walk("lol_dataset") for one in names]:
        os.rename(path, path[:-3] + "png")


def _sentences(path):
    """Pairs of a sentence and its translation (each word reversed), unpacked in the same folder as the archive."""
    lines = [f"{a} {b}\t{a[::-1]} {b[::-1]}" for a in _WORDS for b in _WORDS]
    folder = os.path.dirname(path)
    os.makedirs(os.path.join(folder, "spa-eng"), exist_ok=True)
    with open(os.path.join(folder, "fra.txt"), "w") as file:
        file.write("".join(line + "\tlicence\n" for line in lines))
    with open(os.path.join(folder, "spa-eng", "spa.txt"), "w") as file:
        file.write("".join(line + "\n" for line in lines))


def _prose(path):
    with open(path, "w") as file:
        file.write(" ".join(_WORDS[at * at % len(_WORDS)] for at in range(400)))


def _frames(path):
    np.save(path, np.random.RandomState(2).randint(0, 255, (20, 120, 64, 64)).astype("uint8"))
    if os.path.exists(path + ".npy"):
        os.replace(path + ".npy", path)


def _views(path):
    random = np.random.RandomState(2)
    poses = np.tile(np.eye(4, dtype="float32"), (20, 1, 1))
    poses[:, :3, 3] = random.rand(20, 3)
    np.savez(
        path, images=random.rand(20, 100, 100, 3).astype("float32"), poses=poses, focal=np.float32(138.0)
    )


def _house_numbers(path):
    import scipy.io

    x, y = public_datasets.images(public_datasets.TRAIN, (32, 32, 3), 10, 8)
    scipy.io.savemat(path, {"X": x.transpose(1, 2, 3, 0), "y": y[:, None] + 1}, appendmat=False)


def _photos(path):
    for part in ("train", "test", "val"):
        _class_folders(os.path.join(path, "BSDS500", "data", "images"), [part], 24, (320, 320, 3))
        _class_folders(os.path.join(path, "BSR", "BSDS500", "data", "images"), [part], 24, (320, 320, 3))


_WORDS = [
    "apple", "bread", "cloud", "dance", "earth", "field", "glass", "house", "island", "juice", "knife", "lemon",
    "money", "night", "ocean", "paper", "queen", "river", "stone", "table",
]  # fmt: skip
_FILES = {
    "ml-latest-small.zip": lambda path: os.makedirs(path[: -len(".zip")], exist_ok=True),
    "fra-eng": _sentences,
    "spa-eng": _sentences,
    "nietzsche": _prose,
    "moving_mnist": _frames,
    "mnist_test_seq": _frames,
    "tiny_nerf": _views,
    "train_32x32": _house_numbers,
    "test_32x32": _house_numbers,
    "BSR": _photos,
}
_FOLDERS = {
    "payments": _payments,
    "cats-and-dogs": lambda: _class_folders("PetImages", ["Cat", "Dog"], 96),
    "celeba": lambda: _class_folders("celeba_gan", ["faces"], 96),
    "pets": _pets,
    "captchas": _captchas,
    "reviews": _reviews,
    "lights": _lights,
}
