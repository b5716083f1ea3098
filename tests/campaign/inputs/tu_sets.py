"""TU folders and zips."""

from __future__ import annotations

import os
import random
import zipfile
from pathlib import Path

from gmpool.data import PackedGraphs, read_tu
from tests.campaign.inputs.batches import Inputs, accepted, claim
from tests.campaign.materials import FLAGS, tu_texts
from tests.campaign.mutate import NUMBERS, damaged_bytes, damaged_lines, word


def texts(rng: random.Random) -> dict[str, str]:
    found = tu_texts()
    nodes, edges = found["node_labels"].count("\n"), found["A"].count("\n")
    if rng.random() < 0.4:
        found["node_attributes"] = "".join(f"{i * 0.5}, {i}\n" for i in range(nodes))
    if rng.random() < 0.4:
        found["edge_labels"] = "".join(f"{i % 2}\n" for i in range(edges))
    if rng.random() < 0.3:
        del found["node_labels"]
    if rng.random() < 0.3:
        found["A"] = found["A"].replace(", ", ",")
    if rng.random() < 0.2:
        found = {part: text.replace("\n", "\r\n") for part, text in found.items()}
    return found


def damaged(rng: random.Random, text: str) -> bytes:
    def token() -> str:
        one = rng.choice(NUMBERS) if rng.random() < 0.8 else word(rng)
        return rng.choice((one, f"{one},", f"{one}, 1", f"1, {one}", "1, 2, 3"))

    if rng.random() < 0.7:
        return damaged_lines(rng, text, token).encode(errors="replace")
    return damaged_bytes(rng, text.encode())


def make(rng: random.Random, folder: Path) -> None:
    files = {f"SHAPES_{part}.txt": text.encode() for part, text in texts(rng).items()}
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        name = rng.choice(list(files))
        match rng.randrange(12):
            case 0:
                del files[name]
            case 1:
                files[rng.choice(("OTHER_A.txt", "SHAPES_edge_attributes.txt", "x.txt"))] = files[
                    name
                ]
            case 2:
                files[name] = rng.choice((b"", b"\n", b" \n" * 9, b"\x00" * 99, files[name] * 2))
            case _:
                files[name] = damaged(rng, files[name].decode(errors="replace"))
        if not files:
            break
    if rng.random() < 0.6:
        (folder / "set").mkdir()
        for name, raw in files.items():
            (folder / "set" / name).write_bytes(raw)
        if rng.random() < 0.02:
            odd = folder / "set" / "SHAPES_graph_labels.txt"
            odd.unlink(missing_ok=True)
            rng.choice((os.mkfifo, os.mkdir))(odd)
        return
    path = folder / "set.zip"
    kind = rng.choice(
        (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    )
    before = rng.choice(("", "SHAPES/", "../", "/etc/"))
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, raw in files.items():
            archive.writestr(before + name, raw)
        if rng.random() < 0.01:
            line = zipfile.ZipInfo(f"{before}SHAPES_node_labels.txt")
            line.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(line, "w") as bomb:
                for _ in range(200):
                    bomb.write(b"1\n" * 500_000)
    if rng.random() < 0.5:
        path.write_bytes(damaged_bytes(rng, path.read_bytes()))


def counted(folder: Path, part: str) -> list[list[int]] | None:
    """A file by the simplest way to read it; None where that fails."""
    path = folder / f"SHAPES_{part}.txt"
    if not path.is_file():  # a pipe would be waited for
        return None
    try:
        lines = path.read_text().strip().split("\n")
        return [[int(cell) for cell in line.split(",")] for line in lines]
    except (OSError, ValueError):
        return None


def compare(graphs: PackedGraphs, folder: Path) -> None:
    owner, labels, edges, nodes = (
        counted(folder, part) for part in ("graph_indicator", "graph_labels", "A", "node_labels")
    )
    if labels is not None and graphs.y is not None:
        claim(graphs.num_graphs == len(labels), f"{len(labels)} labels, {graphs.num_graphs} graphs")
        names = [int(graphs.class_names[y]) for y in graphs.y.tolist()]
        claim(names == [line[0] for line in labels], "labels are others")
    if owner is not None:
        claim(graphs.num_nodes == len(owner), f"{len(owner)} nodes became {graphs.num_nodes}")
        sizes = [sum(line[0] == g for line in owner) for g in range(1, graphs.num_graphs + 1)]
        claim(graphs.sizes.tolist() == sizes, "nodes are in other graphs")
    if edges is not None:
        true = {tuple(line[:2]) for line in edges if line[0] != line[1]}
        claim(graphs.num_edges == len(true), f"{len(true)} edges became {graphs.num_edges}")
    if nodes is not None and graphs.node_cat is not None and graphs.node_cat.size(1) == 1:
        starts = graphs.cat_starts or (0,)
        found = (graphs.node_cat[:, 0].long() + starts[0]).tolist()
        claim(found == [line[0] for line in nodes], "labels of nodes are others")


def attempt(rng: random.Random, folder: Path) -> None:
    path = next(folder.glob("set*"))
    graphs = read_tu(path, edge_features=rng.random() < 0.3, labelled=rng.random() < 0.9)
    graphs.validate()
    if path.is_dir():
        compare(graphs, path)
    if rng.random() < 0.15:
        accepted("train", path.name, "-m", "mean", "--folds", 1, *FLAGS)


TU_SETS = Inputs("tu", make, attempt)
