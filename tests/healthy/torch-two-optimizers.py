# /// zoo
# cause = "healthy"
# ///
"""Two networks against one another, on torch: targets are ones and zeros that the script makes up."""
import torch
from torch import nn
torch.manual_seed(0)
G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid())
og = torch.optim.Adam(G.parameters(), 0.001)
od = torch.optim.Adam(D.parameters(), 0.001)
bce = nn.BCELoss()
ones, zeros = (torch.ones(64, 1), torch.zeros(64, 1))
for step in range(400):
    real = torch.randn(64, 2) * 0.3 + 1
    fake = G(torch.randn(64, 8))
    od.zero_grad()
    ld = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    ld.backward()
    od.step()
    og.zero_grad()
    lg = bce(D(fake), ones)
    lg.backward()
    og.step()
    if step % 100 == 0:
        print(step, ld.item(), lg.item())
