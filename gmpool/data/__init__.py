"""Graphs and where they come from: PackedGraphs, batches, splits, and one reader per source."""

from gmpool.data.batch import CSR, GraphBatch
from gmpool.data.epoch_batches import epoch_batches
from gmpool.data.load import Dataset, load, load_table
from gmpool.data.packed import PackedGraphs
from gmpool.data.sources.catalogue import CATALOGUE, Entry, dataset_names
from gmpool.data.sources.generated import generate, generator_names
from gmpool.data.sources.table import read_csv
from gmpool.data.splits import Split, from_column, random_split, stratified_folds, ten_folds

__all__ = [
    "CATALOGUE",
    "CSR",
    "Dataset",
    "Entry",
    "GraphBatch",
    "PackedGraphs",
    "Split",
    "dataset_names",
    "epoch_batches",
    "from_column",
    "generate",
    "generator_names",
    "load",
    "load_table",
    "random_split",
    "read_csv",
    "stratified_folds",
    "ten_folds",
]
