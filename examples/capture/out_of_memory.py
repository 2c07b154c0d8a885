"""A run that dies of out-of-memory: the report and the state at the failure are there all the same."""

import memstrata
import torch


def train() -> None:
    with memstrata.profile("out_of_memory.html", on_oom="at_the_failure.pickle"):
        kept = []
        while True:
            kept.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))


if __name__ == "__main__":
    try:
        train()
    except torch.OutOfMemoryError as error:
        print(f"the program saw its own error: {str(error)[:60]}")
    print(memstrata.load("at_the_failure.pickle").peak)
