"""Takes 4 GiB of the GPU and computes for 20 s: what is sampled of the GPU must show both."""

import time

import torch

torch.manual_seed(3)
kept = torch.ones(2**30, device="cuda")  # 4 GiB
model = torch.nn.Linear(4096, 4096).cuda()
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
inputs = torch.randn(8192, 4096, device="cuda")
targets = inputs.roll(1, 1)
started, step = time.monotonic(), 0
while time.monotonic() - started < 20:
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    step += 1
    if step % 100 == 0:
        print("step", step, "loss", float(loss), flush=True)
assert float(kept[-1]) == 1.0
