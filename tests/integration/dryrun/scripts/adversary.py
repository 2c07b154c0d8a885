"""Two models that train each other: the critic steps three times for each step of the generator. With "idle" the
generator never steps."""

import json
import sys

import torch

critic, generator = (torch.nn.Linear(256, 256, bias=False, device="cuda") for _ in range(2))
critic_optimizer = torch.optim.SGD(critic.parameters())
generator_optimizer = torch.optim.AdamW(generator.parameters())
for step in range(50):
    critic(torch.empty(4, 256, device="cuda")).sum().backward()
    critic_optimizer.step()
    critic_optimizer.zero_grad()
    if step % 3 == 2 and sys.argv[1:] != ["idle"]:
        generator(torch.empty(4, 256, device="cuda")).sum().backward()
        print(json.dumps({"critic_steps": step + 1}), flush=True)
        generator_optimizer.step()
        generator_optimizer.zero_grad()
