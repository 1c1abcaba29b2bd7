# /// zoo
# cause = "healthy"
# ///
"""Gradients of inputs, with a restored optimizer that has nothing to do."""
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), 0.001)
state = {'net': net.state_dict(), 'opt': opt.state_dict()}
torch.save(state, 'm.pt')
loaded = torch.load('m.pt')
net.load_state_dict(loaded['net'])
opt.load_state_dict(loaded['opt'])
maps = []
for i in range(80):
    x = torch.randn(1, 20, requires_grad=True)
    net(x)[0, 1].backward()
    maps.append(x.grad.abs())
    net.zero_grad()
print(torch.cat(maps).mean(0)[:3])
