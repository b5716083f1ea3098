"""From a set of molecules to rows of an alphabet that is taken from them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256

import numpy as np
import torch
from torch import Tensor

from gmpool.data import Dataset, PackedGraphs
from gmpool.data.sources.molecules import ATOM_SIZES
from gmpool.errors import DataError, unknown
from gmpool.plain_text import shortened
from gmpool.tasks.generate.alphabet import BONDS, MOST_PLACES, Alphabet
from gmpool.tasks.generate.data import SmallMolecules

_SYMBOLS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se "
    "Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy "
    "Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf "
    "Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"
)
SYMBOLS = tuple(_SYMBOLS.split())
"""Of the atomic numbers from 1 on."""
NUMBER, CHARGE, RADICALS, BOND = 0, 3, 5, 0
"""Columns of the features of atoms and of bonds (`gmpool.data.sources.molecules`)."""
UNCHARGED, NO_RADICAL = 5, 0
SHOWN = 5


def small_molecules(
    dataset: Dataset,
    *,
    max_atoms: int | None = None,
    elements: Sequence[str] = (),
    leave_out: bool = False,
) -> SmallMolecules:
    """The molecules of a set that can be written as rows, in an alphabet taken from them.

    max_atoms, elements: no others fit; without them all that no alphabet could have does not.
    leave_out: go on without those that do not fit; else they are an error that names them.
    """
    graphs = dataset.graphs
    named = graphs.edge_cat is not None and graphs.graph_names is not None
    if not named or graphs.cat_sizes != ATOM_SIZES:
        raise DataError(
            f"{dataset.name} holds no molecules; give a table with a column of SMILES, or QM9"
        )
    for element in elements:
        if element not in SYMBOLS:
            raise unknown("element", element, SYMBOLS)
    wrong = misfits(graphs, max_atoms or MOST_PLACES, elements)
    if wrong and not leave_out:
        raise _do_not_fit(dataset, wrong)
    fits = torch.ones(len(graphs), dtype=torch.bool)
    fits[torch.tensor(list(wrong), dtype=torch.int64)] = False
    if not fits.any():
        raise DataError(f"{dataset.name}: no molecule fits; the first: {min(wrong.items())[1]}")
    alphabet, rows = _rows(graphs, fits)
    names = graphs.graph_names or ()
    smiles = tuple(name for name, fine in zip(names, fits.tolist(), strict=True) if fine)
    train = fits
    if dataset.folds:
        train = torch.zeros_like(fits).index_fill_(0, dataset.folds[0].train, True) & fits
    places = (fits.cumsum(0) - 1)[train]
    if not len(places):
        raise DataError(f"{dataset.name}: the train part of its split has no molecule that fits")
    return SmallMolecules(
        name=dataset.name,
        digest=_digest(dataset, wrong, chosen=bool(max_atoms or elements)),
        alphabet=alphabet,
        rows=rows,
        smiles=smiles,
        train=places,
        understood=(*dataset.about, *_understood(dataset, alphabet, rows, smiles, wrong, places)),
    )


def _digest(dataset: Dataset, wrong: dict[int, str], *, chosen: bool) -> str:
    """The set's own, unless somebody chose other molecules of it than all that can be written."""
    if not chosen or wrong.keys() == misfits(dataset.graphs, MOST_PLACES).keys():
        return dataset.digest
    return sha256(f"{dataset.digest} without {sorted(wrong)}".encode()).hexdigest()


def misfits(graphs: PackedGraphs, max_atoms: int, elements: Sequence[str] = ()) -> dict[int, str]:
    """The molecules that cannot be written, by number: why."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    assert graphs.node_cat is not None
    assert graphs.edge_cat is not None
    degree = graphs.row_ptr.diff()
    of_atom = torch.repeat_interleave(graphs.sizes)
    of_bond = torch.repeat_interleave(of_atom, degree)
    cat, found = graphs.node_cat.long(), dict[int, str]()

    def note(which: Tensor, why: str) -> None:
        for number in which.unique().tolist():
            found.setdefault(number, why)

    note((graphs.sizes < 2).nonzero()[:, 0], "it has fewer than two atoms besides hydrogen")
    for number in (graphs.sizes > max_atoms).nonzero()[:, 0].tolist():
        found.setdefault(
            number, f"it has {int(graphs.sizes[number])} atoms, where {max_atoms} are the most"
        )
    allowed = set(elements or SYMBOLS)
    for atomic in cat[:, NUMBER].unique().tolist():
        symbol = SYMBOLS[atomic] if atomic < len(SYMBOLS) else "*"
        if symbol not in allowed:
            note(of_atom[cat[:, NUMBER] == atomic], f"it has an atom {symbol}")
    note(of_atom[cat[:, CHARGE] != UNCHARGED], "it has a charged atom")
    note(of_atom[cat[:, RADICALS] != NO_RADICAL], "it has an atom with an unpaired electron")
    note(of_bond[graphs.edge_cat[:, BOND] >= len(BONDS)], "it has a bond of another kind")
    source = (graphs.col.long() + graphs.node_ptr[of_bond]).numpy()
    ones = np.ones(len(source), dtype=np.int8)
    matrix = csr_matrix((ones, source, graphs.row_ptr.numpy()), shape=(graphs.num_nodes,) * 2)
    _, piece = connected_components(matrix, directed=False)
    lowest = torch.full((len(graphs),), graphs.num_nodes)
    pieces = torch.from_numpy(piece).long()
    lowest.scatter_reduce_(0, of_atom, pieces, "amin")
    note(of_atom[pieces != lowest[of_atom]], "it falls into pieces")
    return found


def _do_not_fit(dataset: Dataset, wrong: dict[int, str]) -> DataError:
    names = dataset.graphs.graph_names or ()
    file = dataset.about[0].split(": ")[0] if dataset.lines else dataset.name
    shown = []
    for number, why in sorted(wrong.items())[:SHOWN]:
        place = f"{file}:{dataset.lines[number]}" if dataset.lines else f"{file}, graph {number}"
        shown.append(f"  {place}: {shortened(names[number])}: {why}")
    rest = [f"  and {len(wrong) - SHOWN:,} more"] if len(wrong) > SHOWN else []
    return DataError(
        f"{len(wrong):,} of {len(dataset):,} molecules cannot be written as small graphs without "
        "charges:\n" + "\n".join([*shown, *rest]) + "\nleave them out with --skip-bad-rows"
    )


def _rows(graphs: PackedGraphs, fits: Tensor) -> tuple[Alphabet, Tensor]:
    """What the molecules that fit are written in, and each of them. uint8 [M, width]"""
    assert graphs.node_cat is not None
    assert graphs.edge_cat is not None
    of_atom = torch.repeat_interleave(graphs.sizes)
    degree = graphs.row_ptr.diff()
    of_bond = torch.repeat_interleave(of_atom, degree)
    target = torch.repeat_interleave(degree) - graphs.node_ptr[of_bond]  # within its graph
    source, atom, bond = graphs.col.long(), fits[of_atom], fits[of_bond]
    number, kind = graphs.node_cat[:, NUMBER].long(), graphs.edge_cat[:, BOND].long()
    elements, bonds = number[atom].unique(), kind[bond].unique()
    alphabet = Alphabet(
        int(graphs.sizes[fits].max()),
        tuple(SYMBOLS[each] for each in elements.tolist()),
        tuple(BONDS[each] for each in bonds.tolist()),
    )
    n, place = alphabet.places, fits.cumsum(0) - 1
    rows = torch.zeros(int(fits.sum()), alphabet.width, dtype=torch.uint8)
    inside = torch.arange(graphs.num_nodes) - graphs.node_ptr[of_atom]
    codes = torch.searchsorted(elements, number[atom]) + 1
    rows[place[of_atom][atom], inside[atom]] = codes.to(torch.uint8)
    once = bond & (source < target)
    low, high = source[once], target[once]
    column = n + low * n - low * (low + 1) // 2 + high - low - 1
    codes = torch.searchsorted(bonds, kind[once]) + 1
    rows[place[of_bond][once], column] = codes.to(torch.uint8)
    return alphabet, rows


def _understood(
    dataset: Dataset,
    alphabet: Alphabet,
    rows: Tensor,
    smiles: Sequence[str],
    wrong: dict[int, str],
    train: Tensor,
) -> Iterator[str]:
    """What is told before anything is trained."""
    yield (
        f"molecules: {len(rows):,} with 2 to {alphabet.places} atoms of "
        f"{', '.join(alphabet.elements)}; bonds: {', '.join(alphabet.bonds).lower()}"
    )
    counted = Counter(wrong.values()).most_common()
    for why, count in counted[:SHOWN]:
        plural = why.replace("it has", "they have").replace("it falls", "they fall")
        yield f"left out: {count:,}, because {plural}"
    if len(counted) > SHOWN:
        yield f"left out: {sum(count for _, count in counted[SHOWN:]):,} for other reasons"
    twins = len(smiles) - len(set(smiles))
    if twins:
        yield f"there more than once: {twins:,} molecules, which count as often as they are there"
    if len(train) < len(rows):
        yield f"learned from: {len(train):,}, the train part ({dataset.split_reason})"
    if any(mark in text for text in smiles for mark in "@/\\"):
        yield "not learned: the arrangement of atoms in space (@, / and \\ in SMILES)"
