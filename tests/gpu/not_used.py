"""There is a GPU, and the model was never moved to it."""

import torch

torch.manual_seed(3)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()
)
model.append(torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
images = torch.randn(512, 3, 64, 64)
targets = images.mean(dim=(1, 2, 3))[:, None] * 100
for epoch in range(8):
    for start in range(0, 512, 32):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(images[start : start + 32]), targets[start : start + 32])
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", float(loss), flush=True)
