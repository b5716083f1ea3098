"""Marks that tests share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

CUDA = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
DEVICES = ["cpu", pytest.param("cuda", marks=CUDA)]


def on_cuda(test: Callable[..., None]) -> Callable[..., None]:
    """A test that is for a CUDA device alone."""
    for mark in CUDA:
        test = mark(test)
    return test
