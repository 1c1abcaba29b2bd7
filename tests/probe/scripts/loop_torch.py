"""A loop on torch: its own optimizer, a DataLoader, validation, and a loss that breaks where it is asked to."""

import sys

import numpy as np
import torch

torch.manual_seed(3)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
x = torch.rand(64, 8)
train = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x[:, :1]), batch_size=8, shuffle=True)
held_out = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x[:24], x[:24, :1]), batch_size=8)

for epoch in range(3):
    for images, targets in train:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(images), targets)
        if "break" in sys.argv and epoch == 2:
            loss = loss * float("nan")
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        for images, targets in held_out:
            torch.nn.functional.mse_loss(model(images), targets)
np.save(sys.argv[1], np.concatenate([weight.detach().numpy().ravel() for weight in model.parameters()]))
