"""Healthy: after quick steps a torch model is evaluated for half a minute, and the GPU works all the time."""

import time

import torch

torch.manual_seed(3)
model = torch.nn.Sequential(torch.nn.Linear(4096, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1)).cuda()
optimizer = torch.optim.Adam(model.parameters(), 1e-4)
inputs = torch.randn(16384, 4096, device="cuda")
targets = inputs.mean(dim=1, keepdim=True) * 10
for epoch in range(2):
    for start in range(0, 16384, 256):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs[start : start + 256]), targets[start : start + 256])
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", float(loss), flush=True)
    began, total = time.monotonic(), 0.0
    while time.monotonic() - began < 30:
        with torch.no_grad():
            for _ in range(50):
                found = model(inputs)
            total += (found - targets).square().mean().item()
    print("epoch", epoch, "evaluated", total > 0, flush=True)
