# /// zoo
# cause = "learning-rate-too-high"
# ///
"""The gradients are never cleared, and add up."""
import torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(1024, 20)
Y = X @ torch.randn(20, 1)
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
crit = nn.MSELoss()
for epoch in range(10):
    for i in range(0, 1024, 32):
        loss = crit(net(X[i:i + 32]), Y[i:i + 32])
        loss.backward()
        opt.step()
    print(epoch, loss.item())
