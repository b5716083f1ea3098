"""Files of tensors are what the package's own functions read."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from gmpool.data.sources.tensor_file import write_tensors

TENSORS = {
    "wide": torch.arange(7),
    "floats": torch.tensor([[0.5, float("nan")], [-1.0, 2.0]]),
    "bytes": torch.arange(5, dtype=torch.uint8),
    "none": torch.empty(0, 3, dtype=torch.int16),
    "short": torch.tensor([-3, 4], dtype=torch.int16),
    "ints": torch.tensor([9], dtype=torch.int32),
}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_tensors(path, TENSORS, {"said": "ä"})
    found = load_file(path)
    assert found.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert found[name].dtype == tensor.dtype
        torch.testing.assert_close(found[name], tensor, equal_nan=True, rtol=0, atol=0)
    with safe_open(str(path), framework="pt") as file:
        assert file.metadata() == {"said": "ä"}


def test_it_has_as_many_bytes_as_theirs(tmp_path: Path) -> None:
    write_tensors(tmp_path / "ours", TENSORS, {"a": "b"})
    save_file(TENSORS, tmp_path / "theirs", {"a": "b"})
    assert (tmp_path / "ours").stat().st_size == (tmp_path / "theirs").stat().st_size


def test_a_type_that_no_set_has(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        write_tensors(tmp_path / "file", {"x": torch.zeros(1, dtype=torch.complex64)}, {})
