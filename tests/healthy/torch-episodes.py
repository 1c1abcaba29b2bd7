# /// zoo
# cause = "healthy"
# ///
"""Episodes of different lengths; the loss says nothing about the reward."""
import torch
from torch import nn
torch.manual_seed(0)
pi = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
opt = torch.optim.Adam(pi.parameters(), 0.01)
for episode in range(120):
    s = torch.randn(4)
    logps, rewards = ([], [])
    for t in range(10 + episode % 7):
        dist = torch.distributions.Categorical(logits=pi(s))
        a = dist.sample()
        logps.append(dist.log_prob(a))
        rewards.append(float((s[0] > 0) == bool(a)))
        s = torch.randn(4)
    ret = torch.tensor(rewards)
    ret = ret - ret.mean()
    loss = -(torch.stack(logps) * ret).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print('last', sum(rewards))
