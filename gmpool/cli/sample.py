"""`sample` in the group of a task whose models make something of nothing"""

from pathlib import Path
from typing import Annotated

import typer

from gmpool.atomic_files import write_atomically
from gmpool.cli.arguments import DeviceOption, usable
from gmpool.cli.console import say
from gmpool.cli.row_file import ENDINGS, check_target, row_file
from gmpool.engine.checkpoint import load_model
from gmpool.engine.device import usable_device
from gmpool.errors import UserError
from gmpool.file_paths import require_writable_file


def sample(
    model: Annotated[
        Path, typer.Argument(help="Folder written by train --save-model.", callback=usable)
    ],
    number: Annotated[int, typer.Option(help="How many are drawn.")] = 1000,
    seed: Annotated[int, typer.Option(help="Others are drawn with another.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help=f"File to write ({', '.join(ENDINGS)}); default: standard output.",
            callback=usable,
        ),
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option(help="Write an .html page with pictures.", callback=usable)
    ] = None,
    device: DeviceOption = "auto",
) -> None:
    """Draw new examples from a trained model: those that are valid, each once, with their
    properties, and whether they are new to what the model has learned from."""
    if output is not None:
        check_target(output, [])
    if pictures is not None:
        if pictures.suffix.lower() not in (".html", ".htm"):
            raise UserError(f"--pictures ends in .html; got {pictures}")
        require_writable_file(pictures, "--pictures")
    made = load_model(model).sample(number, seed=seed, device=usable_device(device))
    with row_file(output, made.columns, made.kinds) as write:
        write(made.rows)
    for line in made.about:
        say(line)
    if output is not None:
        say(f"written: {output}")
    if pictures is not None:
        write_atomically({pictures: made.page().encode()})
        say(f"pictures: {pictures}")
