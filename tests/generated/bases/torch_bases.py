"""Plain torch: the script's own loop, with a DataLoader or batches cut by hand."""

from __future__ import annotations

import random

from ..draft import Draft, Piece, code
from . import tasks

_HEADS = {
    "binary": ("1", "nn.BCEWithLogitsLoss()"),
    "multiclass": ("K_CLASSES", "nn.CrossEntropyLoss()"),
    "regression": ("1", "nn.MSELoss()"),
    "multilabel": ("", "nn.BCEWithLogitsLoss()"),
    "autoencoder": ("256", "nn.MSELoss()"),
    "segmentation": ("1", "nn.BCEWithLogitsLoss()"),
}


def torch_base(task: str, feed: str, rng: random.Random) -> Draft:
    one = getattr(tasks, task)(rng)
    kind = next(kind for kind in _HEADS if kind in one.features)
    units, loss = _HEADS[kind]
    one.features = (one.features - {"keras"}) | {"torch", "loop", feed}
    one.imports = ["import torch", "from torch import nn"]
    one.slots |= {"units": units or one.slots["units"], "loss": loss, "lr": "K_LR", "epochs": "K_EPOCHS",
                  "hidden_act": "nn.ReLU(),", "head_act": "", "batch": "K_BATCH"}  # fmt: skip
    if task == "autoencoder":
        one.slots["head_act"] = "nn.Sigmoid(),"
    one.layers = _layers(one, task, rng)
    one.slots["model"] = "v_model = nn.Sequential(\n" + "".join(f"    {line}\n" for line in one.layers) + ")"
    one.layers = []
    dtype = "int64" if kind == "multiclass" else "float32"
    shape = ".reshape(-1, 1)" if kind == "binary" else ""
    data = one.piece("data")
    channels = ".transpose(0, 3, 1, 2)" if "conv" in one.features else ""
    moved = f"v_x, v_xval = v_x{channels}.astype('float32'), v_xval{channels}.astype('float32')"
    targets = f"v_y, v_yval = (v_a<<target_shape>>.astype('{dtype}'){channels if kind == 'segmentation' else ''} for v_a in (v_y, v_yval))"
    one.slots["target_shape"] = shape
    data.body += f"\n{moved}\n{targets}\n<<arrays_extra>>"
    _feed(one, feed)
    one.pieces.append(
        Piece(
            "model",
            [],
            "<<model_before>>\ntorch.manual_seed(K_SEED)\n<<model>>\n<<model_extra>>",
            ["v_model"],
        )
    )
    _loop(one, rng)
    return one


def _layers(one: Draft, task: str, rng: random.Random) -> list[str]:
    """nn layers of the same shape as the Keras ones; each line ends with a comma."""
    import ast

    if "conv" in one.features:
        side, _, channels = ast.literal_eval(one.input_shape)
        if task == "segmentation":
            return [f"nn.Conv2d({channels}, 12, 3, padding=1), <<hidden_act>>", "nn.Conv2d(12, 12, 3, padding=1), <<hidden_act>>",
                    "nn.Conv2d(12, <<units>>, 1), <<head_act>>"]  # fmt: skip
        flat = 16 * (side // 4) ** 2
        return [f"nn.Conv2d({channels}, 8, 3, padding=1), <<hidden_act>>", "nn.MaxPool2d(2),",
                "nn.Conv2d(8, 16, 3, padding=1), <<hidden_act>>", "nn.MaxPool2d(2), nn.Flatten(),",
                f"nn.Linear({flat}, 32), <<hidden_act>>", "<<body_extra>>", "nn.Linear(32, <<units>>), <<head_act>>"]  # fmt: skip
    n = ast.literal_eval(one.input_shape)[0]
    one.slots["inputs"] = str(n)
    a, b = rng.choice([(64, 32), (48, 24), (32, 32)])
    if task == "autoencoder":
        a, b = 64, 8
        return [f"nn.Linear({n}, 64), <<hidden_act>>", "nn.Linear(64, 8), <<hidden_act>>", "nn.Linear(8, 64), <<hidden_act>>",
                "nn.Linear(64, <<units>>), <<head_act>>"]  # fmt: skip
    return [f"nn.Linear({n}, {a}), <<hidden_act>>", f"nn.Linear({a}, {b}), <<hidden_act>>", "<<body_extra>>",
            f"nn.Linear({b}, <<units>>), <<head_act>>"]  # fmt: skip


def _feed(one: Draft, feed: str) -> None:
    if feed == "dataloader":
        one.imports.append("from torch.utils.data import DataLoader, TensorDataset")
        body = code("""
            <<feed_before>>
            v_train = DataLoader(TensorDataset(torch.from_numpy(v_x), torch.from_numpy(v_y)), batch_size=<<batch>>,
                                 shuffle=True<<loader_kw>>)
            <<feed_val>>
            """)
    elif feed == "torch-dataset":
        one.features |= {"dataloader", "python-feed"}
        one.imports.append("from torch.utils.data import DataLoader, Dataset")
        one.defs.append(code("""
            class c_Data(Dataset):
                def __init__(self, v_x, v_y):
                    self.v_x, self.v_y = v_x, v_y

                def __len__(self):
                    return len(self.v_x)

                def __getitem__(self, index):
                    v_xb, v_yb = torch.as_tensor(self.v_x[index]), torch.as_tensor(self.v_y[index])
                    <<sample_extra>>
                    return v_xb, v_yb
            """))  # fmt: skip
        body = "<<feed_before>>\nv_train = DataLoader(c_Data(v_x, v_y), batch_size=<<batch>>, shuffle=True<<loader_kw>>)"
    else:
        body = code("""
            <<feed_before>>
            v_train = [
                (torch.from_numpy(v_x[i:i + <<batch>>]), torch.from_numpy(v_y[i:i + <<batch>>]))
                for i in range(0, len(v_x), <<batch>>)
            ]
            """)
    one.pieces.append(Piece("feed", ["v_x", "v_y"], body, ["v_train"]))


def _loop(one: Draft, rng: random.Random) -> None:
    optimizer = rng.choice(["torch.optim.Adam(v_model.parameters(), lr=<<lr>><<opt_kw>>)"] * 2 +
                           ["torch.optim.AdamW(v_model.parameters(), lr=<<lr>><<opt_kw>>)"])  # fmt: skip
    one.slots |= {"optimizer": optimizer, "zero": "v_opt.zero_grad()", "backward": "v_loss.backward()", "apply": "v_opt.step()",
                  "loss_value": "v_lossfn(v_pred, v_yb)"}  # fmt: skip
    body = code("""
        v_opt = <<optimizer>>
        v_lossfn = <<loss>>
        <<loop_before>>
        for v_epoch in range(<<epochs>>):
            <<mode>>
            v_total, v_count = 0.0, 0
            for v_xb, v_yb in v_train:
                <<batch_extra>>
                <<zero>>
                v_pred = v_model(v_xb)
                v_loss = <<loss_value>>
                <<step_loss_extra>>
                <<backward>>
                <<step_grads>>
                <<apply>>
                v_total += v_loss.item()
                v_count += 1
                <<step_extra>>
            <<epoch_extra>>
            SAY("epoch {} loss {:.4f}", v_epoch + 1, v_total / max(v_count, 1))
        <<train_after>>
        """)
    one.slots["mode"] = rng.choice(["v_model.train()", ""])
    one.pieces.append(Piece("train", ["v_model", "v_train"], body, ["v_total"]))
    finish = ["<<finish_before>>", 'SAY("finished, sum of the last epoch {:.3f}", v_total)']
    if rng.random() < 0.5:
        finish.append('torch.save(v_model.state_dict(), "model.pt")')
    one.pieces.append(Piece("finish", ["v_model", "v_total"], "\n".join([*finish, "<<finish>>"]), []))
