# /// zoo
# cause = "loss-not-falling"
# ///
"""The gradients are cleared after the backward pass, before the step."""
import torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(1024, 20)
Y = (X.sum(1) > 0).long()
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
crit = nn.CrossEntropyLoss()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=32, shuffle=True)
for epoch in range(10):
    for x, y in loader:
        loss = crit(net(x), y)
        loss.backward()
        opt.zero_grad()
        opt.step()
    print(epoch, loss.item())
