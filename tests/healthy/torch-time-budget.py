# /// zoo
# cause = "healthy"
# ///
"""A bound of a million steps, and a clock that ends the loop; the data is started again and again."""
import time, torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(640, 20)
Y = (X.sum(1) > 0).long()
net = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), 0.001)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=32, shuffle=True)
it = iter(loader)
began = time.monotonic()
for step in range(1000000):
    try:
        x, y = next(it)
    except StopIteration:
        it = iter(loader)
        x, y = next(it)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if time.monotonic() - began > 2:
        break
print(step, loss.item())
