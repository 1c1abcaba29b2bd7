# /// zoo
# cause = "already-at-target"
# ///
"""A checkpoint of the last epoch is read: the loop has no round to do."""
import argparse, os, torch
from torch import nn

def parse():
    p = argparse.ArgumentParser()
    p.add_argument('--rounds', type=int, default=12)
    return p.parse_args()

def main():
    args = parse()
    torch.manual_seed(0)
    net = nn.Linear(10, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    torch.save({'net': net.state_dict(), 'meta': {'epoch': 11}}, 'snap.pt')
    begin = 0
    if os.path.exists('snap.pt'):
        snap = torch.load('snap.pt')
        net.load_state_dict(snap['net'])
        begin = snap['meta']['epoch'] + 1
    X = torch.randn(64, 10)
    Y = torch.randint(0, 2, (64,))
    for epoch in range(begin, args.rounds):
        for i in range(0, 64, 16):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(X[i:i + 16]), Y[i:i + 16])
            loss.backward()
            opt.step()
    print('saved')
main()
