"""Graphs and where they come from: PackedGraphs, batches, splits, and one file per source."""

from gmpool.data.batch import CSR, GraphBatch
from gmpool.data.dataset import Dataset
from gmpool.data.epoch_batches import epoch_batches
from gmpool.data.load import load
from gmpool.data.packed import PackedGraphs
from gmpool.data.source import SOURCES, Source
from gmpool.data.sources.catalogue import CATALOGUE, Card, Entry, card, dataset_names
from gmpool.data.sources.generated import generate, generator_names
from gmpool.data.sources.molecules import from_smiles
from gmpool.data.sources.networkx_graphs import from_networkx, to_networkx
from gmpool.data.sources.packed_file import load_packed, save
from gmpool.data.sources.pyg import from_pyg, to_pyg
from gmpool.data.sources.table import load_table, read_csv
from gmpool.data.sources.tu import read_tu
from gmpool.data.splits import Split, from_column, random_split, stratified_folds, ten_folds

__all__ = [
    "CATALOGUE",
    "CSR",
    "SOURCES",
    "Card",
    "Dataset",
    "Entry",
    "GraphBatch",
    "PackedGraphs",
    "Source",
    "Split",
    "card",
    "dataset_names",
    "epoch_batches",
    "from_column",
    "from_networkx",
    "from_pyg",
    "from_smiles",
    "generate",
    "generator_names",
    "load",
    "load_packed",
    "load_table",
    "random_split",
    "read_csv",
    "read_tu",
    "save",
    "stratified_folds",
    "ten_folds",
    "to_networkx",
    "to_pyg",
]
