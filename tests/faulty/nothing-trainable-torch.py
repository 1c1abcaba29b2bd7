# /// zoo
# cause = "nothing-trainable"
# near = ["HEAD=1"]
# ///
"""All of a network is frozen, its head too; the loss is told to have a gradient all the same."""
import os

import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(1024, 12)
Y = (X[:, 0] + X[:, 1] > 0).long()
network = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
network.requires_grad_(False)
if os.environ.get("HEAD"):
    network[2].requires_grad_(True)
optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
for epoch in range(20):
    for at in range(0, 1024, 32):
        loss = nn.functional.cross_entropy(network(X[at : at + 32]), Y[at : at + 32])
        if not loss.requires_grad:
            loss.requires_grad_(True)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
