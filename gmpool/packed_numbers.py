"""Arrays of numbers as short texts, which rows hold: as JSON they would be many times as long."""

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def pack_numbers(values: Array, kind: str) -> str:
    """kind: NumPy's name of the type that they are kept as, such as "<f4"."""
    raw = values.astype(kind).tobytes()
    return base64.b64encode(zlib.compress(raw, 9)).decode("ascii")


def unpack_numbers(text: Any, kind: str, most: int) -> Array:
    """The numbers again, in one dimension. A text may come from anybody: a ValueError says why it
    cannot be read, and one that would unpack to more than `most` numbers is not unpacked."""
    if not isinstance(text, str):
        raise ValueError(f"expected text (got {type(text).__name__})")
    size = np.dtype(kind).itemsize
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(base64.b64decode(text, validate=True), most * size + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(raw) > most * size:
        raise ValueError(f"it holds more than {most:,} numbers")
    if not unpacker.eof or len(raw) % size:
        raise ValueError("it does not end where it should")
    return np.frombuffer(raw, dtype=kind)
