"""`gmpool pack`"""

from pathlib import Path
from typing import Annotated

import typer

from gmpool.cli.arguments import usable, worker_count
from gmpool.cli.console import err, say, say_understood
from gmpool.cli.predict import PartWorkersOption, SmilesOption
from gmpool.cli.row_bar import bar_of
from gmpool.data.labels import check_task
from gmpool.errors import UserError
from gmpool.file_paths import require_other_file
from gmpool.tasks.pack_table import pack_table

ENDING = ".safetensors"


def pack(
    table: Annotated[
        str, typer.Argument(help="A table with SMILES, of any length.", callback=usable)
    ],
    out: Annotated[Path, typer.Option(help=f"The {ENDING} file to write.", callback=usable)],
    label: Annotated[
        list[str] | None,
        typer.Option(help="A column of numbers that are to be learned; may be repeated."),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="multiclass, binary or regression; default inferred.")
    ] = None,
    smiles_column: SmilesOption = None,
    split_column: Annotated[
        str | None,
        typer.Option(help="The column that says train, valid or test; default: a random split."),
    ] = None,
    split_seed: Annotated[
        int | None, typer.Option(help="Draws another random split; default 0.")
    ] = None,
    split_sizes: Annotated[
        str | None, typer.Option(help="Percent of train, valid and test; default 80,10,10.")
    ] = None,
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Leave unusable rows out instead of stopping.")
    ] = False,
    keep_smiles: Annotated[
        bool,
        typer.Option(
            "--keep-smiles", help="Graphs are called by their SMILES, for splits by scaffold."
        ),
    ] = False,
    workers: PartWorkersOption = "auto",
) -> None:
    """Pack a table of molecules into one file, which may be larger than memory to be trained from.

    gmpool pack library.csv --label logp --out library.safetensors

    gmpool train library.safetensors
    """
    if out.suffix != ENDING:
        raise UserError(f"--out {out}: a packed file ends in {ENDING}")
    require_other_file(out, "--out", [table])
    check_task(task)
    with bar_of(err, hidden=False) as bar:
        shown = bar.add_task("", total=None)
        made = pack_table(
            table,
            out,
            smiles_column=smiles_column,
            label_columns=label or (),
            task=task,  # type: ignore[arg-type]
            split_column=split_column,
            split_seed=split_seed,
            split_sizes=split_sizes,
            skip_bad_rows=skip_bad_rows,
            keep_smiles=keep_smiles,
            workers=worker_count(workers),
            told=lambda rows, total: bar.update(shown, completed=rows, total=total),
        )
    say_understood(made)
    say(f"{out}: {len(made):,} graphs, {out.stat().st_size / 2**20:,.1f} MiB")
