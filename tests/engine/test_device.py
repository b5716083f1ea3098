"""Which device serves, by the name that a user gives."""

from __future__ import annotations

import pytest
import torch

from gmpool.engine.device import usable_device
from gmpool.errors import UserError


def test_a_device_that_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    assert usable_device("cpu") == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert usable_device("auto") == "cpu"
    with pytest.raises(UserError, match="--device cuda: this machine has 0 CUDA devices"):
        usable_device("cuda")
    with pytest.raises(UserError, match=r"^device=cuda: this machine has 0 CUDA"):
        usable_device("cuda", "device=")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert usable_device("auto") == "cuda"
    assert usable_device("cuda:1") == "cuda:1"
    with pytest.raises(UserError, match="--device cuda:2: this machine has 2 CUDA devices"):
        usable_device("cuda:2")
    for name in ("gpu", "mps", ""):
        with pytest.raises(UserError, match="--device takes cpu, cuda or auto, got"):
            usable_device(name)
