# /// zoo
# cause = "nothing-trainable"
# ///
"""All parameters are frozen before training."""
import torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(1024, 20)
Y = (X.sum(1) > 0).long()
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
for p in net.parameters():
    p.requires_grad = False
opt = torch.optim.SGD(net.parameters(), lr=0.1)
crit = nn.CrossEntropyLoss()
for epoch in range(10):
    for i in range(0, 1024, 32):
        opt.zero_grad()
        loss = crit(net(X[i:i + 32]), Y[i:i + 32])
        loss.backward()
        opt.step()
