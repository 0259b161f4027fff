"""A V-RLM training step in PyTorch, driven line by line: `N` on standard input is answered with the milliseconds of
each of N steps, as a JSON list. The same arithmetic as worker.mjs: 784-512-256-16, mirrored decoder, ReLU,
L1-ball projection, Laplace noise by reparametrisation, Bernoulli loss, closed-form KL, fused Adam."""

import json
import math
import sys
import time

import torch

BATCH, PIXELS, LATENT, NOISE = 256, 784, 16, 0.5
WIDTHS = [PIXELS, 512, 256, LATENT, 256, 512, PIXELS]

torch.manual_seed(1)
linears = [torch.nn.Linear(a, b) for a, b in zip(WIDTHS, WIDTHS[1:])]
relu = torch.nn.ReLU()
encoder = torch.nn.Sequential(linears[0], relu, linears[1], relu, linears[2])
decoder = torch.nn.Sequential(linears[3], relu, linears[4], relu, linears[5])
parameters = [*encoder.parameters(), *decoder.parameters()]
optimiser = torch.optim.Adam(parameters, lr=1e-3, fused=True)
images = torch.rand(BATCH, PIXELS)


def negative_elbo():
    code = encoder(images)
    mean = code * torch.clamp(1 / (code.abs().sum(1, keepdim=True) + 1e-9), max=1)
    uniform = torch.empty(BATCH, LATENT).uniform_(-0.4999999, 0.4999999)
    noisy = mean - NOISE * torch.sign(uniform) * torch.log(1 - 2 * uniform.abs())
    reconstruction = torch.nn.functional.binary_cross_entropy_with_logits(decoder(noisy), images, reduction="sum")
    size = mean.abs()
    divergence = (math.log(1 / NOISE) + size + NOISE * torch.exp(-size / NOISE) - 1).sum()
    return (reconstruction + divergence) / BATCH


def step():
    optimiser.zero_grad(set_to_none=True)
    loss = negative_elbo()
    loss.backward()
    optimiser.step()
    return loss.item()


print(json.dumps({"library": "PyTorch " + torch.__version__, "threads": torch.get_num_threads()}), flush=True)
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        begin = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - begin))
    print(json.dumps(times), flush=True)
