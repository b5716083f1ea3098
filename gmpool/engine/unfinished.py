"""What a training could go on from after any of its epochs, on disk while it is going on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from gmpool.atomic_files import replacing
from gmpool.engine.provenance import source_digest
from gmpool.errors import StoreError

FOLDER = "unfinished"
"""Of a run store."""


class Unfinished:
    """Of the run with this key. Another version of the package begins anew: it might go on
    otherwise than it would have begun."""

    def __init__(self, folder: Path, key: str) -> None:
        self.path, self.key = folder / f"{key}.safetensors", key

    def read(self) -> dict[str, Tensor] | None:
        """What was written last."""
        from safetensors import SafetensorError, safe_open

        if not self.path.exists():
            return None
        try:
            with safe_open(str(self.path), framework="pt") as file:
                if file.metadata() != self._about():
                    return None
                return {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise StoreError(
                f"{self.path}, from which a training would go on, cannot be read ({error}); remove "
                "it, and the training begins anew"
            ) from error

    def write(self, state: Mapping[str, Tensor]) -> None:
        from safetensors.torch import save_file

        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in state.items()}
        try:
            with replacing(self.path) as (temporary,):
                save_file(tensors, temporary, self._about())
        except Exception as error:  # safetensors has its own class for a full disk
            raise StoreError(f"cannot write {self.path}: {error}") from error

    def _about(self) -> dict[str, str]:
        return {"key": self.key, "source": source_digest()}

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
