"""The datasets that have a name: their files, their checksums and what they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TU_HOME = "https://www.chrsmrrs.com/graphkerneldatasets"


@dataclass(frozen=True)
class Entry:
    """One named dataset."""

    kind: Literal["tu", "molecules", "atoms"]
    """A TU archive, a table of molecules with labels, or one whose atom types are the target."""
    files: dict[str, str]
    """File name -> SHA-256, the preferred file first."""
    graphs: int
    outputs: int
    """Classes or label columns; 0 for a set without labels."""
    mean_nodes: float
    about: str
    content: str = ""
    """TU: the digest of the graphs, whatever archive they came in."""


CATALOGUE: dict[str, Entry] = {
    "DD": Entry(
        "tu",
        {"DD.zip": "812ca23cb0ff979c7a089cc2ee9717028a7d79a31835d48096e78aa8376409a2"},
        1178,
        2,
        284.32,
        "proteins, amino acids as nodes: enzyme or not",
        "7d3030dab446fc54f0e19e4ba4bf675d2866f958bd8133de3598455a67297e9c",
    ),
    "PROTEINS": Entry(
        "tu",
        {"PROTEINS.zip": "5acf82fb93c4af939c41077eb4daade755396db71483c2c6f2b2a6df86f7926c"},
        1113,
        2,
        39.06,
        "proteins, secondary structures as nodes: enzyme or not",
        "26a0c387eea76439b90d417793253db6940ae05151cbf22f6166290f43c4a801",
    ),
    "MUTAG": Entry(
        "tu",
        {"MUTAG.zip": "5a10bae4e95e68f7706ed2a997b66aed0c9207a37bef5b85dc74f22a54110ef4"},
        188,
        2,
        17.93,
        "nitroaromatic compounds: mutagenic or not",
        "edc8e9c8ed67c44dfe4234d77f3c01f38b1ead99ce6bea613de2d463c90c8cc0",
    ),
    "IMDB-BINARY": Entry(
        "tu",
        {"IMDB-BINARY.zip": "dd2d40f08a73ae79c8adb6aa842ae008d3d4fad92212ee2834d7f0df7a1689e8"},
        1000,
        2,
        19.77,
        "actors who played together: genre of the film, two of them",
        "f4c780ae8acf7400a1bc1e4c216a95c658f89ed217413065102c0936895df663",
    ),
    "IMDB-MULTI": Entry(
        "tu",
        {"IMDB-MULTI.zip": "28f1727298ead8553646de7b48e1a7dab03b8dd810198f1910662c47612ada3d"},
        1500,
        3,
        13.00,
        "actors who played together: genre of the film, three of them",
        "2bc563a74e6c0d7afb8018f05cf4d78e4828a5fb2f6a44c2699866dd3577b172",
    ),
    "COLLAB": Entry(
        "tu",
        {
            "COLLAB_packed.npz": "bf5202261830acf8a45dd6335cd111717acc36c17f5c671ad70d00a2b4676285",
            "COLLAB.zip": "df23c6e30d90de6c2f41aa627414fc43685d0e55e216bc1574bbee284f7a048d",
        },
        5000,
        3,
        74.49,
        "researchers who published together: field of physics",
        "de00dad1382b997886c2ea855d8f53d7cd552b24571fb358f9a5ca9b1c83a44e",
    ),
    "ogbg-molhiv": Entry(
        "molecules",
        {"ogbg-molhiv.csv.gz": "e68ef659de898a5f918a0e8ab65cb4ee7e9f38d8af9664280524d52362d11717"},
        41127,
        1,
        25.51,
        "molecules that inhibit HIV replication",
    ),
    "ogbg-moltox21": Entry(
        "molecules",
        {
            "ogbg-moltox21.csv.gz": (
                "b80569c445bafd186b34169f5fdac26185addd84d225936b25f50e012dee4991"
            )
        },
        7831,
        12,
        18.57,
        "toxicity on 12 targets",
    ),
    "ogbg-moltoxcast": Entry(
        "molecules",
        {
            "ogbg-moltoxcast.csv.gz": (
                "49fd5d310c1fbe87f7ec34bf30761b6279dac9c0e4ab003d78052d4313455b6d"
            )
        },
        8576,
        617,
        18.78,
        "toxicity in 617 assays",
    ),
    "ogbg-molbbbp": Entry(
        "molecules",
        {"ogbg-molbbbp.csv.gz": "7c1654258bb15c9a3dadda284d0d2e1d5a8d5dca2482a63f5ca3f36c8d8962d2"},
        2039,
        1,
        24.06,
        "molecules that pass the blood-brain barrier",
    ),
    "ZINC": Entry(
        "atoms",
        {"zinc12k.csv.gz": "efbfd0d605c87253d41cf7fa07655703049c57c1fb5cbd1303f475a33a8c6e5a"},
        12000,
        0,
        23.15,
        "drug-like molecules without labels: atom types to be reconstructed",
    ),
}


def dataset_names() -> tuple[str, ...]:
    """The names that ``load`` knows."""
    return tuple(CATALOGUE)
