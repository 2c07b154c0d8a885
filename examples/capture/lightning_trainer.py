"""Lightning: one callback; here only steps 1 and 2."""

import lightning.pytorch as lightning
import torch
from memstrata.integrations.lightning import MemstrataCallback


class Model(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(64, 1)

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        return self.layer(batch[0]).sum()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters())


batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(32, 64)), batch_size=8)
callback = MemstrataCallback("lightning.html", first_step=1, step_count=2)
trainer = lightning.Trainer(
    max_epochs=1, callbacks=[callback], logger=False, enable_checkpointing=False, enable_progress_bar=False
)
trainer.fit(Model(), batches)
print(f"peak: {callback.capture.peak.live_bytes} bytes")
