# /// zoo
# cause = "learning-rate-too-high"
# ///
"""Weights are changed by the loop itself, at a rate far too high."""
import torch
torch.manual_seed(0)
X = torch.randn(512, 12)
Y = X @ torch.randn(12, 1)
w1 = (torch.randn(12, 32) * 0.3).requires_grad_()
w2 = (torch.randn(32, 1) * 0.3).requires_grad_()
lr = 2.0
for step in range(200):
    i = step % 16 * 32
    loss = ((torch.tanh(X[i:i + 32] @ w1) @ w2 * 5 - Y[i:i + 32]) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for w in (w1, w2):
            w -= lr * w.grad
            w.grad.zero_()
print('loss', loss.item())
