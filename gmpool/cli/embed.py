"""`gmpool embed`"""

from gmpool.cli.arguments import AddressOption, DataRoot, DeviceOption, ExecutorOption
from gmpool.cli.model_rows import Where, write_rows
from gmpool.cli.predict import (
    BatchOption,
    DataArgument,
    ModelArgument,
    OutputOption,
    PartWorkersOption,
    SkipFlag,
    SmilesOption,
)


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
    executor: ExecutorOption = None,
    address: AddressOption = None,
) -> None:
    """Write the vectors that a trained model makes of graphs.

    All columns of a table stay, in its order, and beside them stand e0, e1, …: the vectors of all
    members of an ensemble side by side.

    Stopped or killed, the same command goes on.

    gmpool embed my-model new.csv --out vectors.parquet
    """
    options = {"smiles_column": smiles_column, "batch_size": batch_size}
    where = Where(workers, device, executor, address)
    write_rows(
        "embed", "vector", model, dataset, output, data, options, where,
        skip_bad_rows=skip_bad_rows,
    )  # fmt: skip
