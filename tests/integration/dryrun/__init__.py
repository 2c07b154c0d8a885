"""Dry runs of the project's own training scripts, with real PyTorch wheels for CUDA."""
