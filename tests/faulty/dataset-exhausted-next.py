# /// zoo
# cause = "dataset-exhausted"
# ///
"""An iterator ends after one pass, and the loop takes that for the end of training."""
import torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(640, 20)
Y = (X.sum(1) > 0).long()
net = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=0.001)
batches = iter(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=32))
for step in range(2000):
    try:
        x, y = next(batches)
    except StopIteration:
        print('end of data')
        break
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
print('trained')
