"""States that a module takes or does not: its own, one of a wrapped module, and the same under the right names."""

import torch

model, wrapped = torch.nn.Linear(4, 2), torch.nn.Sequential()
wrapped.add_module("module", torch.nn.Linear(4, 2))
model.load_state_dict(model.state_dict())
model.load_state_dict({"bias": torch.zeros(2), "more": torch.zeros(1)}, strict=False)
model.load_state_dict(wrapped.state_dict(), strict=False)
model.load_state_dict({name[7:]: value for name, value in wrapped.state_dict().items()})
model.load_state_dict(model.state_dict())
