"""What a recorded row must say of where it came from."""

import hashlib
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


@cache
def source_digest() -> str:
    """Of the package's source as it runs, whatever commit it says it is."""
    root = Path(__file__).resolve().parents[1]
    state = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        state.update(f"{path.relative_to(root).as_posix()}\n".encode() + path.read_bytes())
    return state.hexdigest()[:16]


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
        tf32 = ", tf32" if precision(device) == "tf32" else ""
        return torch.cuda.get_device_name(device) + tf32
    threads = threads or torch.get_num_threads()
    return f"{platform.machine()} CPU, {threads} thread{'' if threads == 1 else 's'}"


def precision(device: str) -> str:
    """In which products of float32 matrices are formed."""
    tf32 = device.startswith("cuda") and torch.backends.cuda.matmul.allow_tf32
    return "tf32" if tf32 else "float32"
