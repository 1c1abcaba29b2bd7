# /// zoo
# cause = "healthy"
# ///
"""Weights are read and measured, nothing is trained."""
import torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(1024, 20)
Y = (X.sum(1) > 0).long()
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
torch.save(net.state_dict(), 'weights.pt')
net.load_state_dict(torch.load('weights.pt'))
net.eval()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=32)
total = right = 0
losses = []
with torch.no_grad():
    for x, y in loader:
        out = net(x)
        losses.append(nn.functional.cross_entropy(out, y).item())
        right += (out.argmax(1) == y).sum().item()
        total += len(y)
print('accuracy', right / total, sum(losses) / len(losses))
