"""A Triton kernel that waits for a flag which nobody sets: at step 200 of a torch loop, under `synchronize`."""

import time

import torch
import triton
import triton.language as tl


@triton.jit
def scaled(values, out, flag, count, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    ready = tl.load(flag, volatile=True)
    while ready == 0:
        ready = tl.load(flag, volatile=True)
    tl.store(out + at, tl.load(values + at, mask=at < count) * 0.5, mask=at < count)


torch.manual_seed(3)
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)).cuda()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
inputs = torch.randn(8192, 256, device="cuda")
targets = inputs.mean(dim=1, keepdim=True) * 10
flag, halves = torch.ones(1, dtype=torch.int32, device="cuda"), torch.empty(128, device="cuda")
for step in range(400):
    rows = slice(step % 64 * 128, step % 64 * 128 + 128)
    optimizer.zero_grad()
    errors = (model(inputs[rows]) - targets[rows]).square()[:, 0]
    errors.mean().backward()
    optimizer.step()
    if step == 200:
        flag.zero_()
    scaled[(1,)](errors.detach(), halves, flag, 128, block=128)
    torch.cuda.synchronize()
    time.sleep(0.1)  # as a loader would take
    print("step", step, "loss", float(halves.mean()), flush=True)
