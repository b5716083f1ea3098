"""One graph with positions, made on the spot: a ring, a grid, or any generator of NetworkX."""

import contextlib
import difflib
import inspect
import itertools
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from gmpool.data.dataset import SOURCES, Dataset, Source
from gmpool.data.pack import pack
from gmpool.data.splits import Split
from gmpool.errors import MissingPackage, UserError, unknown

_log = logging.getLogger(__name__)
_DECIMALS = 7  # positions are rounded, so that one bit of a sine does not make another set
MOST_NODES, MOST_PARTS = 10**6, 2 * 10**6
"""A graph with more nodes, or nodes and edges, is refused before memory is taken for it."""
_NOT_OURS = ("create_using", "backend")  # how NetworkX stores a graph, not which one it is


class Drawing(NamedTuple):
    """The edges of an undirected graph, each once, and where its nodes lie."""

    edges: np.ndarray
    """int64 [M, 2], no loops."""
    positions: np.ndarray
    """float64 [N, 2]."""


def generate(name: str, **parameters: Any) -> Dataset:
    """A set of one graph whose numeric node features are its nodes' positions [N, 2].

    "ring" and "grid" are the graphs of the paper's reconstruction; any other name is a generator
    of NetworkX, such as "barabasi_albert_graph" with n and m. A random one gets ``seed=0`` unless
    given. Its nodes lie where the generator says (attribute ``pos``), else where NetworkX's spring
    layout puts them from seed 0. There is nothing to hold back from one graph: it is the training,
    validation and test part at once.
    """
    make = _OWN.get(name) or _generator(name)
    accepted = _parameters(make)
    for key in parameters:
        if key not in accepted:
            raise unknown(f"parameter of {name}", key, accepted)
    missing = [key for key, p in accepted.items() if p.default is p.empty and key not in parameters]
    if missing:
        raise UserError(f"{name} needs {', '.join(f'{key}=…' for key in missing)}")
    drawing = make(**parameters) if name in _OWN else _from_networkx(name, make, parameters)
    edges = torch.from_numpy(np.concatenate([drawing.edges, drawing.edges[:, ::-1]]))  # [2M, 2]
    given = ", ".join(f"{k}={v}" for k, v in parameters.items() if accepted[k].default != v)
    positions = torch.from_numpy(drawing.positions.round(_DECIMALS)).float()
    graphs = pack(
        name=f"{name}({given})" if given else name,
        sizes=torch.tensor([len(positions)]),
        source=edges[:, 0],
        target=edges[:, 1],
        node_float=positions,
    )
    whole = torch.zeros(1, dtype=torch.int64)
    return Dataset(graphs.name, graphs.validate(), (Split(whole, whole, whole),), None)


def generator_names() -> tuple[str, ...]:
    """The names that ``generate`` knows; without NetworkX only its own."""
    try:
        return (*_OWN, *sorted(_generators()))
    except MissingPackage:
        return tuple(_OWN)


def _ring(*, n: int = 200) -> Drawing:
    """n nodes on the unit circle."""
    _between("ring", "n", n, 3)
    nodes = np.arange(n)
    angle = 2 * np.pi * nodes / n
    return Drawing(
        np.stack([nodes, (nodes + 1) % n], 1), np.stack([np.cos(angle), np.sin(angle)], 1)
    )


def _grid(*, rows: int = 30, columns: int = 30) -> Drawing:
    """Rows from top to bottom, coordinates in [0, 1) by steps of 1/columns and 1/rows.

    That is how PyGSP, from which MinCutPool's experiment and the paper's take their grid, has it.
    """
    _between("grid", "rows", rows, 1)
    _between("grid", "columns", columns, 1, MOST_NODES // rows)
    number = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], 1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], 1)
    x, y = np.meshgrid(np.arange(columns) / columns, np.arange(rows)[::-1] / rows)
    return Drawing(np.concatenate([across, down]), np.stack([x.ravel(), y.ravel()], 1))


_OWN: dict[str, Callable[..., Drawing]] = {"ring": _ring, "grid": _grid}
PAPER_GRAPHS = tuple(_OWN)
"""The graphs of the paper's reconstruction, which need no other package."""
SOURCES.register("generated")(
    Source(
        load=lambda name, root, parameters=None: generate(name, **(parameters or {})),
        names=lambda: PAPER_GRAPHS,
        accepts=lambda path: may_be_made(path) and path.name in generator_names(),
        options={"parameters": "--parameter"},
        what="a graph that is made on the spot, such as ring",
    )
)


def may_be_made(path: Path) -> bool:
    """Whether nothing says that it is a file."""
    return not (path.exists() or path.suffix or len(path.parts) > 1)


def _between(name: str, key: str, value: Any, least: int, most: int = MOST_NODES) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise UserError(
            f"{name}: {key} must be a whole number from {least} to {most:,}, got {value!r}"
        )


def _generators() -> dict[str, Callable[..., Any]]:
    try:
        import networkx as nx
    except ImportError as error:
        raise MissingPackage("networkx", "graphs", "a generator of NetworkX") from error
    return {
        name: thing
        for name, thing in vars(nx).items()
        if callable(thing) and getattr(thing, "__module__", "").startswith("networkx.generators")
    }


def _generator(name: str) -> Callable[..., Any]:
    known = _generators()
    if name not in known:
        close = difflib.get_close_matches(name, (*_OWN, *known), n=5, cutoff=0.4)
        near = f"near to it: {', '.join(close)}; " if close else ""
        raise UserError(
            f"unknown graph {name!r} ({near}known: {', '.join(_OWN)} and the {len(known)} "
            "functions of networkx.generators)"
        )
    return known[name]


def _parameters(make: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """What a generator can be given by name."""
    found = inspect.signature(inspect.unwrap(make)).parameters.values()
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {p.name: p for p in found if p.kind in by_name and p.name not in _NOT_OURS}


def _from_networkx(name: str, make: Callable[..., Any], parameters: dict[str, Any]) -> Drawing:
    import networkx as nx

    if "seed" in _parameters(make):
        parameters = {"seed": 0, **parameters}
    for key, value in parameters.items():
        if key != "seed" and isinstance(value, int) and abs(value) > MOST_NODES:
            raise UserError(f"{name}: {key}={value} is too large; at most {MOST_NODES:,} is taken")
    try:
        with _bounded(nx.Graph):
            made = make(**parameters)
    except Exception as error:  # whatever a generator raises is about what it was given
        given = ", ".join(f"{k}={v!r}" for k, v in parameters.items())
        raise UserError(f"{name}({given}) cannot be made: {error}") from error
    if not isinstance(made, nx.Graph) or made.number_of_nodes() == 0:
        found = made if isinstance(made, nx.Graph) else type(made).__name__
        raise UserError(f"{name} makes no graph with nodes but: {found}; choose another")
    number = {node: i for i, node in enumerate(made)}
    pairs = {tuple(sorted((number[a], number[b]))) for a, b in made.edges() if a != b}
    if len(pairs) < made.number_of_edges():
        lost = made.number_of_edges() - len(pairs)
        _log.warning("%s: %d loops and repeated or reverse edges are left out", name, lost)
    edges = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return Drawing(edges, _positions(made))


@contextlib.contextmanager
def _bounded(graph_class: Any) -> Iterator[None]:
    """Graphs that are made meanwhile stop growing: a generator's parameters do not say how many
    nodes and edges come of them (``hypercube_graph(n=40)``), but NetworkX asks its class for a
    dict for each of them.
    """
    parts = itertools.count(1)

    def attributes() -> dict[str, Any]:
        if next(parts) > MOST_PARTS:
            raise UserError(f"it has more than {MOST_PARTS:,} nodes and edges")
        return {}

    factories = ("node_attr_dict_factory", "edge_attr_dict_factory")
    before = {factory: vars(graph_class)[factory] for factory in factories}
    try:
        for factory in factories:
            setattr(graph_class, factory, staticmethod(attributes))
        yield
    finally:
        for factory, was in before.items():
            setattr(graph_class, factory, was)


def _positions(graph: Any) -> np.ndarray:
    """[N, 2]: the generator's own where every node has a ``pos`` of two numbers, else a layout."""
    import networkx as nx

    places = list(nx.get_node_attributes(graph, "pos").values())
    if len(places) == len(graph) and all(np.shape(place) == (2,) for place in places):
        return np.array(places, dtype=np.float64)
    layout = nx.spring_layout(nx.Graph(graph), seed=0)
    return np.array([layout[node] for node in graph], dtype=np.float64)
