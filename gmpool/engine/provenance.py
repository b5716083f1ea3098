"""What a recorded row must say of where it came from."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

PACKAGES = ("torch", "torch_geometric", "numpy", "scipy", "rdkit")


@cache
def commit() -> str | None:
    """The commit of the checkout this code runs from, marked when it has changes.

    A copy of a checkout may say in a file COMMIT, which git ignores, what it is a copy of.
    """
    root = Path(__file__).resolve().parents[2]
    copied = root / "COMMIT"
    if copied.is_file():
        return copied.read_text(encoding="utf-8").strip()
    if not (root / ".git").exists():
        return None
    try:
        head = _git(root, "rev-parse", "--short=12", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", "gmpool")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}+changes" if changed else head


def _git(root: Path, *words: str) -> str:
    command = ["git", "-C", str(root), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@cache
def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def device_name(device: str, threads: int | None = None) -> str:
    """threads: of a CPU; None: as many as this process has."""
    if device.startswith("cuda"):
        tf32 = ", tf32" if torch.backends.cuda.matmul.allow_tf32 else ""
        return torch.cuda.get_device_name(device) + tf32
    threads = threads or torch.get_num_threads()
    return f"{platform.machine()} CPU, {threads} thread{'' if threads == 1 else 's'}"
