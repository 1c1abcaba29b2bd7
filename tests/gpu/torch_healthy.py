"""A torch model that trains on the GPU, through a DataLoader, and ends well."""

import torch

torch.manual_seed(3)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()
)
model.append(torch.nn.Linear(32, 1))
model.to("cuda")
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
images = torch.randn(512, 3, 64, 64)
targets = images.mean(dim=(1, 2, 3))[:, None] * 100
loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(images, targets), batch_size=32, shuffle=True
)
for epoch in range(12):
    for batch, wanted in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(batch.to("cuda")), wanted.to("cuda"))
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", float(loss), flush=True)
