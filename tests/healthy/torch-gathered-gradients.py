# /// zoo
# cause = "healthy"
# ///
"""Gradients of four batches are gathered before each step."""
import torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(1024, 20)
Y = (X.sum(1) > 0).long()
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), lr=0.001)
crit = nn.CrossEntropyLoss()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=16, shuffle=True)
opt.zero_grad()
for epoch in range(6):
    for n, (x, y) in enumerate(loader, 1):
        loss = crit(net(x), y) / 4
        loss.backward()
        if n % 4 == 0:
            opt.step()
            opt.zero_grad()
    print(epoch, loss.item() * 4)
