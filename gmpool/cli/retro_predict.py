"""`gmpool retro predict`, and what the commands of its group share"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from gmpool.cli.arguments import DeviceOption, usable, worker_count
from gmpool.cli.console import INTERRUPTED, err, out, say
from gmpool.cli.output import save
from gmpool.cli.row_bar import bar_of
from gmpool.cli.row_file import ENDINGS, check_target, row_file
from gmpool.engine.checkpoint import load_model
from gmpool.engine.device import usable_device
from gmpool.errors import UserError
from gmpool.file_paths import require_other_file, require_writable_file
from gmpool.tasks.task import TASKS

GROUP = "retro"
SHOWN = 5
WorkersOption = Annotated[
    str, typer.Option("--workers", help="Processes that run templates; auto: one per core.")
]


def retro_task() -> Any:
    """The one that is trained by `gmpool retro train`."""
    return next(TASKS[name] for name in TASKS if TASKS[name].verb == f"{GROUP} train")


def predict(
    model: Annotated[
        Path,
        typer.Argument(help="Folder written by gmpool retro train --save-model.", callback=usable),
    ],
    target: Annotated[
        str, typer.Argument(help="A product as SMILES, or a table (.csv, .smi, …) of products.")
    ],
    top: Annotated[int, typer.Option(help="So many ways to make a product, at most.")] = 10,
    group: Annotated[
        str | None,
        typer.Option("--class", help="Class of the reaction, for models trained with classes."),
    ] = None,
    all_duplicates: Annotated[
        bool,
        typer.Option(
            "--all-duplicates", help="Reactants that several templates make stay several times."
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help=f"File to write ({', '.join(ENDINGS)}, .json); default: standard output.",
            callback=usable,
        ),
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option(help="Write an .html page with drawings.", callback=usable)
    ] = None,
    smiles_column: Annotated[
        str | None, typer.Option("--smiles-column", help="Table: the column with SMILES.")
    ] = None,
    workers: WorkersOption = "1",
    device: DeviceOption = "auto",
) -> None:
    """Say what a product can be made of, the best first.

    A row has the reactants, their probability among all that was found, score and template.

    Of a table it has the line of its product too; where nothing can be said, one row says why.

    gmpool retro predict my-model "CC(=O)Nc1ccc(O)cc1" --pictures ways.html

    gmpool retro predict my-model products.csv --top 5 --out ways.csv
    """
    if output is not None:
        _check_output(output, target)
    if pictures is not None:
        if pictures.suffix.lower() not in (".html", ".htm"):
            raise UserError(f"--pictures ends in .html; got {pictures}")
        require_writable_file(pictures, "--pictures")
    if top < 1:
        raise UserError(f"--top takes a number from 1 on, got {top}")
    processes, usable = worker_count(workers), usable_device(device)
    saved, task = load_model(model), retro_task()
    if saved.task.name != task.name:
        raise UserError(
            f"{model} is a model of {saved.task.name}; give one that gmpool retro train "
            f"--save-model wrote"
        )
    made = task.propose(
        saved.model,
        target,
        device=usable,
        smiles_column=smiles_column,
        top=top,
        group=group,
        merged=not all_duplicates,
        workers=processes,
    )
    shown = _one(made, output) if not made.several else _many(made, output, keep=bool(pictures))
    if pictures is not None:
        notes = [f"model: {model}", f"products: {target}" if made.several else f"product: {target}"]
        save(pictures, made.page(shown, "What products can be made of", notes).encode())


def _check_output(output: Path, target: str) -> None:
    if output.suffix.lower() == ".json":
        require_writable_file(output, "--out")
        require_other_file(output, "--out", [target])
    elif output.name.lower().endswith(ENDINGS):
        check_target(output, [target])
    else:
        raise UserError(f"--out ends in {', '.join(ENDINGS)}, .json; got {output}")


def _one(made: Any, output: Path | None) -> list[Any]:
    """Of one product, of which something can be said."""
    answer = next(made.answers)
    if answer.problem is not None:
        raise UserError(f"{answer.product}: {answer.problem}")
    if output is not None:
        with _writer(made, output) as write:
            write(answer)
        return [answer]
    shown = Table("rank", "probability", "score", "reactants", "template")
    for rank, each in enumerate(answer.predictions, start=1):
        numbers = (str(rank), f"{100 * each.probability:.1f} %", f"{each.score:.3f}")
        words = (".".join(each.reactants), each.template)
        shown.add_row(*numbers, *(Text(text, overflow="fold") for text in words))
    out.print(shown)
    return [answer]


def _many(made: Any, output: Path | None, *, keep: bool) -> list[Any]:
    """Of a table; the answers, where they are to be kept."""
    kept, bad, done = [], [], 0
    try:
        with (
            bar_of(err, hidden=output is None and out.is_terminal) as bar,
            _writer(made, output) as write,
        ):
            task = bar.add_task("", total=made.total)
            for done, answer in enumerate(made.answers, start=1):
                write(answer)
                bar.update(task, completed=done)
                if answer.problem is not None:
                    bad.append(f"line {answer.line}: {answer.problem}")
                if keep:
                    kept.append(answer)
    except KeyboardInterrupt:
        not_there = "" if output is None else f"; {output} was not written"
        say(f"\nstopped after {done} products{not_there}")
        raise typer.Exit(INTERRUPTED) from None
    for reason in bad[:SHOWN]:
        say(f"without a prediction: {reason}")
    if len(bad) > SHOWN:
        say(f"… and {len(bad) - SHOWN} more")
    say(f"{made.total - len(bad)} of {made.total} products have predictions")
    return kept


@contextmanager
def _writer(made: Any, output: Path | None) -> Iterator[Callable[[Any], object]]:
    """What takes answers one after the other; a file is there when it is whole."""
    if output is not None and output.suffix.lower() == ".json":
        listed: list[Any] = []
        yield lambda answer: listed.append(_for_json(answer))
        save(output, json.dumps(listed, indent=1).encode() + b"\n")
        return
    with row_file(output, made.columns, made.kinds) as write:
        yield lambda answer: write(answer.rows)
    if output is not None:
        say(f"written: {output}")


def _for_json(answer: Any) -> dict[str, Any]:
    ways = [{"rank": rank, **each._asdict()} for rank, each in enumerate(answer.predictions, 1)]
    return {**answer._asdict(), "predictions": ways}
