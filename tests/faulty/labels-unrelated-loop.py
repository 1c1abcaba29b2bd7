# /// zoo
# cause = "labels-unrelated"
# near = ["TOGETHER=1"]
# ///
"""Inputs are drawn anew in each epoch, and labels stay in their order."""
import os

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
KINDS = rng.normal(size=(6, 40)) * 1.5
ids = rng.integers(0, 6, 1200)
X = torch.tensor(KINDS[ids] + rng.normal(size=(1200, 40)), dtype=torch.float32)
Y = torch.tensor(ids)
network = nn.Sequential(nn.Linear(40, 32), nn.ReLU(), nn.Linear(32, 6))
optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
for epoch in range(30):
    order = torch.from_numpy(rng.permutation(1200))
    for at in range(0, 1200, 50):
        taken = order[at : at + 50]
        y = Y[taken] if os.environ.get("TOGETHER") else Y[at : at + 50]
        loss = nn.functional.cross_entropy(network(X[taken]), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
