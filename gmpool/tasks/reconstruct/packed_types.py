"""Predicted categories as a short text: zlib of how far each is from the truth, in base64.

Most predictions are right, so that most of the differences are 0 and the text is short.
"""

import base64
import binascii
import zlib

import numpy as np
import torch
from torch import Tensor

from gmpool.errors import DataError


def pack_predictions(predicted: Tensor, true: Tensor, categories: int) -> str:
    """Both int [N], each in 0 … categories - 1."""
    difference = ((predicted.cpu().long() - true.cpu().long()) % categories).numpy()
    raw = difference.astype(_width(categories)).tobytes()
    return base64.b64encode(zlib.compress(raw, 9)).decode("ascii")


def unpack_predictions(text: str, true: Tensor, categories: int) -> Tensor:
    """The predictions again. true int [N] -> int64 [N]"""
    try:
        raw = zlib.decompress(base64.b64decode(text, validate=True))
    except (binascii.Error, zlib.error, ValueError) as error:
        raise DataError(f"recorded predictions cannot be read: {error}; run it again") from error
    width = np.dtype(_width(categories))
    if len(raw) != width.itemsize * true.numel():
        raise DataError(
            f"recorded predictions are for {len(raw) // width.itemsize} nodes, but the data has "
            f"{true.numel()}; they belong to another set or split"
        )
    difference = torch.from_numpy(np.frombuffer(raw, dtype=width).astype(np.int64))
    return (true.cpu().long() + difference) % categories


def _width(categories: int) -> str:
    return "<u1" if categories <= 2**8 else "<u4"
