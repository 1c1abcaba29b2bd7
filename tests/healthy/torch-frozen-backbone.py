# /// zoo
# cause = "healthy"
# ///
"""All but the last layer is frozen on purpose."""
import torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(1024, 20)
Y = (X.sum(1) > 0).float()
back = nn.Sequential(nn.Linear(20, 64), nn.ReLU())
head = nn.Linear(64, 1)
for p in back.parameters():
    p.requires_grad_(False)
back.eval()
model = nn.Sequential(back, head)
opt = torch.optim.AdamW(filter(lambda p: p.requires_grad, model.parameters()), lr=0.001)
crit = nn.BCEWithLogitsLoss()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=32, shuffle=True)
for epoch in range(10):
    for x, y in loader:
        opt.zero_grad()
        loss = crit(model(x).squeeze(1), y)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
