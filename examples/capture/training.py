"""One line around a training loop."""

import memstrata
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"

with memstrata.profile("training.html") as capture:
    model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(4):
        inputs = torch.zeros(128, 256, device=device)
        with memstrata.annotate("forward"):
            loss = model(inputs).sum()
        with memstrata.annotate("backward"):
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        capture.step()

print(f"peak on {capture.peak.heap}: {capture.peak.live_bytes} bytes")
capture.save("training.md")
