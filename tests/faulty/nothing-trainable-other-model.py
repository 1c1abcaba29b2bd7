# /// zoo
# cause = "nothing-trainable"
# ///
"""The optimizer has the parameters of a model that was made before, and is not the one trained."""
import torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(1024, 20)
Y = (X.sum(1) > 0).long()

def make():
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
net = make()
opt = torch.optim.Adam(net.parameters(), lr=0.001)
net = make()
crit = nn.CrossEntropyLoss()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=32, shuffle=True)
for epoch in range(10):
    for x, y in loader:
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
