"""Errors of the library are Python's own kinds too, so that a user need not know ours."""

from __future__ import annotations

import pickle

import pytest

from gmpool import GMPool
from gmpool.errors import (
    CheckpointError,
    DataError,
    MissingPackage,
    StoreError,
    UserError,
    WrongType,
    unknown,
)
from gmpool.options import coerce

MISSING = MissingPackage("rdkit", "chem", "reading SMILES")
ALL = [*(kind("x") for kind in (UserError, DataError, CheckpointError, StoreError, WrongType))]


@pytest.mark.parametrize("error", [*ALL, MISSING, unknown("method", "gmtt", ["gmt"])])
def test_except_value_error_catches_what_a_user_causes(error: UserError) -> None:
    assert isinstance(error, UserError)
    assert isinstance(error, ValueError)


def test_a_missing_package_is_an_import_error() -> None:
    assert isinstance(MISSING, ImportError)
    assert MISSING.name == "rdkit"
    assert str(MISSING) == (
        "reading SMILES needs the package 'rdkit', which is not installed; "
        'install it with: pip install "gmpool[chem]"'
    )


@pytest.mark.parametrize("error", [*ALL, MISSING])
def test_it_comes_back_from_a_worker_process_as_it_was(error: UserError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back)) == (type(error), str(error))


def test_a_value_of_another_type_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="option epochs takes a whole number, got 'many'") as caught:
        coerce("int", "epochs", "many")
    assert isinstance(caught.value, UserError)
    with pytest.raises(TypeError, match=r"must return a torch\.nn\.Module") as caught:
        GMPool(4, 2, conv=lambda a, b: 3)
    assert isinstance(caught.value, ValueError)


def test_a_value_out_of_range_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="num_seeds must lie between 1 and 10,000, got 0"):
        GMPool(4, 0)
