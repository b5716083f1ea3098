"""The datasets that have a name: what they hold, their files, what is known of their content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple

from gmpool.data.splits import published_folds, ten_folds
from gmpool.errors import unknown

Kind = Literal["tu", "molecules", "atoms"]


@dataclass(frozen=True)
class Entry:
    """One named dataset. What is not known of it is left out, and then not verified."""

    kind: Kind
    """A TU archive, a table of molecules with labels, or one whose atom types are the target."""
    about: str
    """What its graphs are, and what is asked of them."""
    graphs: int
    nodes: int
    """Of all graphs together."""
    outputs: int
    """Classes or label columns; 0 for a set without labels."""
    files: Mapping[str, str] = field(default_factory=dict)
    """File name -> SHA-256, the preferred file first. Left out: NAME.zip or NAME.csv.gz."""
    content: str = ""
    """The digest of the graphs, whatever file they came in."""
    split: str = ""
    """The digest of the one split of molecules; that of folds follows from the published ones."""

    @property
    def mean_nodes(self) -> float:
        """Nodes of a graph, as they are published: to two decimals."""
        return round(self.nodes / self.graphs, 2)


class Card(NamedTuple):
    """What is known of a dataset, with a name or not, without its graphs at hand."""

    name: str
    digest: str
    """``Dataset.digest``."""
    split_digests: tuple[str, ...]
    """``Split.digest`` of each fold."""
    graphs: int
    nodes: int
    """Of all graphs together."""


def card(name: str) -> Card | None:
    """What the catalogue knows of a set; None where it does not know its content or its splits."""
    if name not in CATALOGUE:
        raise unknown("dataset", name, CATALOGUE)
    entry = CATALOGUE[name]
    splits = _published_digests(name) if entry.kind == "tu" else (entry.split,)
    if not (entry.content and splits and all(splits)):
        return None
    return Card(name, entry.content, splits, entry.graphs, entry.nodes)


@cache
def _published_digests(name: str) -> tuple[str, ...]:
    folds = ten_folds(name) if name in published_folds() else ()
    return tuple(split.digest for split in folds)


def dataset_names() -> tuple[str, ...]:
    """The names of the catalogue."""
    return tuple(CATALOGUE)


def names_of(*kinds: Kind) -> tuple[str, ...]:
    """The names of the catalogue's sets of these kinds."""
    return tuple(name for name, entry in CATALOGUE.items() if entry.kind in kinds)


CATALOGUE: dict[str, Entry] = {
    "DD": Entry(
        "tu",
        "proteins, amino acids as nodes: enzyme or not",
        graphs=1178,
        nodes=334925,
        outputs=2,
        files={"DD.zip": "812ca23cb0ff979c7a089cc2ee9717028a7d79a31835d48096e78aa8376409a2"},
        content="7d3030dab446fc54f0e19e4ba4bf675d2866f958bd8133de3598455a67297e9c",
    ),
    "PROTEINS": Entry(
        "tu",
        "proteins, secondary structures as nodes: enzyme or not",
        graphs=1113,
        nodes=43471,
        outputs=2,
        files={"PROTEINS.zip": "5acf82fb93c4af939c41077eb4daade755396db71483c2c6f2b2a6df86f7926c"},
        content="26a0c387eea76439b90d417793253db6940ae05151cbf22f6166290f43c4a801",
    ),
    "MUTAG": Entry(
        "tu",
        "nitroaromatic compounds: mutagenic or not",
        graphs=188,
        nodes=3371,
        outputs=2,
        files={"MUTAG.zip": "5a10bae4e95e68f7706ed2a997b66aed0c9207a37bef5b85dc74f22a54110ef4"},
        content="edc8e9c8ed67c44dfe4234d77f3c01f38b1ead99ce6bea613de2d463c90c8cc0",
    ),
    "IMDB-BINARY": Entry(
        "tu",
        "actors who played together: genre of the film, two of them",
        graphs=1000,
        nodes=19773,
        outputs=2,
        files={
            "IMDB-BINARY.zip": "dd2d40f08a73ae79c8adb6aa842ae008d3d4fad92212ee2834d7f0df7a1689e8"
        },
        content="f4c780ae8acf7400a1bc1e4c216a95c658f89ed217413065102c0936895df663",
    ),
    "IMDB-MULTI": Entry(
        "tu",
        "actors who played together: genre of the film, three of them",
        graphs=1500,
        nodes=19502,
        outputs=3,
        files={
            "IMDB-MULTI.zip": "28f1727298ead8553646de7b48e1a7dab03b8dd810198f1910662c47612ada3d"
        },
        content="2bc563a74e6c0d7afb8018f05cf4d78e4828a5fb2f6a44c2699866dd3577b172",
    ),
    "COLLAB": Entry(
        "tu",
        "researchers who published together: field of physics",
        graphs=5000,
        nodes=372474,
        outputs=3,
        files={
            "COLLAB_packed.npz": "bf5202261830acf8a45dd6335cd111717acc36c17f5c671ad70d00a2b4676285",
            "COLLAB.zip": "df23c6e30d90de6c2f41aa627414fc43685d0e55e216bc1574bbee284f7a048d",
        },
        content="de00dad1382b997886c2ea855d8f53d7cd552b24571fb358f9a5ca9b1c83a44e",
    ),
    "ogbg-molhiv": Entry(
        "molecules",
        "molecules that inhibit HIV replication",
        graphs=41127,
        nodes=1049163,
        outputs=1,
        files={
            "ogbg-molhiv.csv.gz": (
                "e68ef659de898a5f918a0e8ab65cb4ee7e9f38d8af9664280524d52362d11717"
            )
        },
        content="6eef5cb89a9b1d4685e4f26e418ea10cc749951707ef431267ab0b9d135bce59",
        split="865bed2de35118e17bce472246714532406a8580a25004fbfc4f03ed02ad6685",
    ),
    "ogbg-moltox21": Entry(
        "molecules",
        "toxicity on 12 targets",
        graphs=7831,
        nodes=145459,
        outputs=12,
        files={
            "ogbg-moltox21.csv.gz": (
                "b80569c445bafd186b34169f5fdac26185addd84d225936b25f50e012dee4991"
            )
        },
        content="bfc8da979539b317ccb78d787d566d139add97f74d4dd7f5980eff3bb5136e28",
        split="0aeab97a82d3ac2f6e7878816a7887d38dc3df50bcf4575ef6baad972e75d2a9",
    ),
    "ogbg-moltoxcast": Entry(
        "molecules",
        "toxicity in 617 assays",
        graphs=8576,
        nodes=161088,
        outputs=617,
        files={
            "ogbg-moltoxcast.csv.gz": (
                "49fd5d310c1fbe87f7ec34bf30761b6279dac9c0e4ab003d78052d4313455b6d"
            )
        },
        content="ee84bc32d9c5696d5739abdf0b67fc283c62843d08bde5889b61dd7626d951dd",
        split="ae76808e8e92bb3eb4eb9d353635aa49c77b7f202e80863d9709e45462eee73a",
    ),
    "ogbg-molbbbp": Entry(
        "molecules",
        "molecules that pass the blood-brain barrier",
        graphs=2039,
        nodes=49068,
        outputs=1,
        files={
            "ogbg-molbbbp.csv.gz": (
                "7c1654258bb15c9a3dadda284d0d2e1d5a8d5dca2482a63f5ca3f36c8d8962d2"
            )
        },
        content="146b5a764ebb70d44ed74ae909f7af80ee5e5990d19aba7a958f80117604d072",
        split="5fcf9a664c70561ad1654391f76b0662f99d1468e852768249b90c3f8fbcbab4",
    ),
    "ZINC": Entry(
        "atoms",
        "drug-like molecules without labels: atom types to be reconstructed",
        graphs=12000,
        nodes=277744,
        outputs=0,
        files={
            "zinc12k.csv.gz": "efbfd0d605c87253d41cf7fa07655703049c57c1fb5cbd1303f475a33a8c6e5a"
        },
        content="6d07e12180031a2a13beb154f1d64509098b2d95b4bd08caa3ec01854fbfe987",
        split="b3d9235d75e9f6c1f16ebf1a20fc8185a0ce24ec9023a0c7210d1b15f2a70ffd",
    ),
}
