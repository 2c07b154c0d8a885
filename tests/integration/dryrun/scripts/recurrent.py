"""A recurrent layer: with cuDNN, whose sizes the simulated card does not know, or without (argument "plain")."""

import sys

import torch

torch.backends.cudnn.enabled = "plain" not in sys.argv
layer = torch.nn.LSTM(32, 64).cuda()
layer(torch.zeros(16, 4, 32, device="cuda"))[0].sum().backward()
