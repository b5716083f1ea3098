"""Trained models on disk: weights as safetensors, everything else as JSON, no pickle."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from gmpool.atomic_files import write_atomically
from gmpool.config import AutoencoderConfig, ModelConfig
from gmpool.errors import CheckpointError, UserError
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.reconstruct.model import Autoencoder
from gmpool.tasks.shape import DataShape
from gmpool.tasks.trainable import Trainable

FORMAT = 2
WEIGHTS, DESCRIPTION = "model.safetensors", "model.json"
AGAIN = "copy the folder again, or train again"


def save_model(model: Trainable, folder: Path, about: dict[str, Any]) -> None:
    """Write folder/model.safetensors and folder/model.json; `about` is kept for the reader."""
    description = {
        "format": FORMAT,
        "shape": model.shape.to_json(),
        "model": asdict(model.config),
        "about": about,
    }
    weights = {k: v.detach().cpu().contiguous() for k, v in model.state_dict().items()}
    text = json.dumps(description, indent=1) + "\n"
    try:
        write_atomically({folder / WEIGHTS: save(weights), folder / DESCRIPTION: text.encode()})
    except OSError as error:
        raise CheckpointError(
            f"the model could not be saved in {folder}: {error}; what was there before is "
            f"untouched. Free some space, or choose another folder"
        ) from error


M = TypeVar("M", bound=Trainable)


def load_model(folder: Path) -> tuple[GraphModel, dict[str, Any]]:
    """The model, and the description that was saved with it."""
    return _load(folder, lambda shape, model: GraphModel(shape, ModelConfig(**model)))


def load_autoencoder(folder: Path) -> tuple[Autoencoder, dict[str, Any]]:
    """The same for a model that rebuilds graphs."""
    return _load(folder, lambda shape, model: Autoencoder(shape, AutoencoderConfig(**model)))


def _load(
    folder: Path, build: Callable[[DataShape, dict[str, Any]], M]
) -> tuple[M, dict[str, Any]]:
    for name in (DESCRIPTION, WEIGHTS):
        if not (folder / name).is_file():
            raise CheckpointError(
                f"{folder} is not a saved model: {name} is missing; give the folder that "
                f"`gmpool train --save-model FOLDER` wrote"
            )
    try:
        description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        _check_format(description["format"], folder / DESCRIPTION)
        shape = DataShape.from_json(description["shape"])
        model = build(shape, description["model"])
    except CheckpointError:
        raise
    except KeyError as error:
        raise CheckpointError(
            f"{folder / DESCRIPTION} cannot be read: {error} is missing; {AGAIN}"
        ) from error
    except (ValueError, TypeError, RuntimeError, UserError) as error:
        raise CheckpointError(f"{folder / DESCRIPTION} cannot be read: {error}; {AGAIN}") from error
    load_weights(model, folder / WEIGHTS)
    return model, description


def _check_format(found: object, path: Path) -> None:
    if found != FORMAT:
        raise CheckpointError(
            f"{path} has format {found!r}, this version of gmpool reads {FORMAT}; use the version "
            f"that wrote it, or train again"
        )


def load_weights(model: torch.nn.Module, path: Path) -> None:
    """Fill a model from a safetensors file; every name and shape must agree."""
    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"{path} cannot be read ({error}); it may be cut off or not a safetensors file; {AGAIN}"
        ) from error
    expected = {k: tuple(v.shape) for k, v in model.state_dict().items()}
    found = {k: tuple(v.shape) for k, v in weights.items()}
    if expected != found:
        names = sorted(k for k in expected.keys() | found.keys() if expected.get(k) != found.get(k))
        first = names[0]
        raise CheckpointError(
            f"{path} does not fit the model: {first} is {found.get(first, 'missing')} in the file "
            f"and {expected.get(first, 'unknown')} in the model ({len(names)} of {len(expected)} "
            f"tensors differ); {AGAIN}"
        )
    model.load_state_dict(weights)
