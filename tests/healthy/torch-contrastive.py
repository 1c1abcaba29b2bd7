# /// zoo
# cause = "healthy"
# ///
"""Cross-entropy over similarities, with made-up class ids."""
import torch, torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16))
opt = torch.optim.Adam(enc.parameters(), 0.001)
X = torch.randn(512, 16)
for step in range(300):
    x = X[torch.randint(0, 512, (64,))]
    a, b = (F.normalize(enc(x + 0.1 * torch.randn_like(x)), dim=1), F.normalize(enc(x + 0.1 * torch.randn_like(x)), dim=1))
    loss = F.cross_entropy(a @ b.T / 0.1, torch.arange(64))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
