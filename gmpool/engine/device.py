"""Which device is meant."""

import torch

from gmpool.errors import UserError


def usable_device(name: str, flag: str = "--device ") -> str:
    """cpu, cuda or cuda:N; auto is cuda where there is one. flag: how the user was asked."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise UserError(f"{flag.rstrip(' =')} takes cpu, cuda or auto, got {name!r}")
    count = torch.cuda.device_count()
    if device.type == "cuda" and (device.index or 0) >= count:
        raise UserError(f"{flag}{name}: this machine has {count} CUDA devices; use {flag}cpu")
    return name
