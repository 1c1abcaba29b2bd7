# /// zoo
# cause = "half-precision-overflow"
# variants = ["SCALER=0", "WIDTH=96 ROWS=900"]
# near = ["PRECISION=bfloat16", "MEAN=1"]
# ///
"""A sum of squares over a long sequence under float16: every square is small, and their sum is beyond 65,504."""
import os

import torch
from torch import nn

torch.manual_seed(0)
rows, width = int(os.environ.get("ROWS", 1400)), int(os.environ.get("WIDTH", 64))
precision = getattr(torch, os.environ.get("PRECISION", "float16"))
mean, scales = bool(int(os.environ.get("MEAN", 0))), bool(int(os.environ.get("SCALER", 1)))
X = torch.randn(64, rows, 8)
Y = (X.mean(dim=(1, 2)) > 0).long()
body, norm, head = nn.Linear(8, width), nn.LayerNorm(width), nn.Linear(width + 1, 2)
weights = [*body.parameters(), *norm.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(weights, 1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0, enabled=scales)


def energy(h):
    squares = h.pow(2).mean(dim=(1, 2)) if mean else h.pow(2).sum(dim=(1, 2))
    return torch.log(squares + 1.0)


for epoch in range(5):
    for chosen in torch.randperm(64).split(8):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=precision):
            h = norm(body(X[chosen])).to(precision)
            out = head(torch.cat([h.mean(dim=1), energy(h)[:, None]], dim=1))
        loss = nn.functional.cross_entropy(out.float(), Y[chosen])
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    print(epoch, loss.item())
