"""One row of the data is not a number; no DataLoader shows it."""

import torch

torch.manual_seed(0)
x = torch.randn(600, 6)
y = x.sum(1, keepdim=True)
x[222, 3] = float("nan")
net = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(net.parameters(), 0.02)
for start in range(0, 600, 20):
    loss = ((net(x[start : start + 20]) - y[start : start + 20]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
