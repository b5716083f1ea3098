"""`gmpool embed`"""

import gmpool
from gmpool.cli.arguments import DataRoot, DeviceOption
from gmpool.cli.made_rows import Maker
from gmpool.cli.new_data import new_data
from gmpool.cli.predict import (
    BatchOption,
    DataArgument,
    ModelArgument,
    OutputOption,
    PartWorkersOption,
    SkipFlag,
    SmilesOption,
    worker_count,
)
from gmpool.engine.checkpoint import load_model
from gmpool.engine.device import usable_device
from gmpool.tasks.predictions import Predictions


def embed(
    model: ModelArgument,
    dataset: DataArgument,
    output: OutputOption = None,
    data: DataRoot = None,
    smiles_column: SmilesOption = None,
    skip_bad_rows: SkipFlag = False,
    workers: PartWorkersOption = "auto",
    batch_size: BatchOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Write the vectors that a trained model makes of graphs.

    All columns of a table stay, in its order, and beside them stand e0, e1, …: the vectors of all
    members of an ensemble side by side.

    Stopped or killed, the same command goes on.

    gmpool embed my-model new.csv --out vectors.parquet
    """
    given = new_data(dataset, output, data)
    options = {
        "device": usable_device(device),
        "smiles_column": smiles_column,
        "batch_size": batch_size,
    }
    saved, processes = load_model(model), worker_count(workers)

    def make(source: str, done: int) -> Predictions:
        return saved.embed(source, data, workers=processes, done=done, **options)

    asked = {**options, "skip_bad_rows": skip_bad_rows}
    origin = {"model": saved.digest, "options": asked, "version": gmpool.__version__}
    Maker(make, origin, "vector", skip_bad_rows).write_all(given)
