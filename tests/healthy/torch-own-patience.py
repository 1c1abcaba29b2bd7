# /// zoo
# cause = "healthy"
# ///
"""The loop is left long before its bound: the validation has not got better for five epochs."""
import torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(512, 6)
Y = X[:, :1] * 2 + 0.1 * torch.randn(512, 1)
net = nn.Linear(6, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
crit = nn.MSELoss()
tr = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X[:400], Y[:400]), batch_size=40, shuffle=True)
best, bad = (1000000000.0, 0)
for epoch in range(500):
    net.train()
    for x, y in tr:
        opt.zero_grad()
        crit(net(x), y).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        val = crit(net(X[400:]), Y[400:]).item()
    if val < best - 0.0001:
        best, bad = (val, 0)
    else:
        bad += 1
    if bad >= 5:
        print('stop at', epoch, best)
        break
