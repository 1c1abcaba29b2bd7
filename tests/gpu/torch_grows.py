"""A plain torch loop that asks for a larger batch each time until the GPU is full."""

import torch

layer = torch.nn.Conv2d(3, 512, 3, padding=1).cuda()
optimizer = torch.optim.SGD(layer.parameters(), 1e-3)
batch = 1
while True:
    images = torch.zeros(batch, 3, 1024, 1024, device="cuda")
    loss = layer(images).relu().square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("batch", batch, "loss", float(loss), flush=True)
    batch *= 2
