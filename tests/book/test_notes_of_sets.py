"""Sizes and settings that notes of sections 3.5 and 5.5 name are those of the sets and the runs."""

import re

import numpy as np
import pytest
from ismlit_book import loaders
from ismlit_book.experiments import scaling, table_5_4
from ismlit_book.record.ledger import ledger
from sklearn.datasets import load_wine

from ismlit import label_gamma
from ismlit.kernels import Polynomial

needs = lambda *names: pytest.mark.skipif(
    not all(map(loaders.is_available, names)), reason=f"{names} not at hand (ISMLIT_DATA)"
)
note = lambda name: ledger()[name].note


def by(bunch):
    return " x ".join(map(str, bunch.data.shape))


@needs("mnist")
def test_features_of_mnist():
    assert f"MNIST has {loaders.load_mnist().data.shape[1]} features." in note("sec-C.9")


@needs("face")
def test_sizes_of_wine_and_face():
    face = loaders.load_face()
    assert f"Wine ({by(load_wine())})" in note("txt-5-manifold")
    assert f"Face ({by(face)})" in note("txt-5-manifold")
    n, d = face.data.shape
    assert f"On Face, d = {d} and n = {n}, it is the other way round" in note("txt-5.2-small-phi")
    assert d > n
    q = len(set(face.target))
    for name, told in (("txt-5.5-dg-steps", f"where q = {q},"), ("txt-5.5-gap-q", f"(q = {q})")):
        assert told in note(name)


@needs("flower", "webkb")
def test_what_flower_and_webkb_have():
    assert loaders.load_flower().target is None
    assert "Flower, has no labels" in note("txt-5.5-five-sets")
    web = loaders.load_webkb()
    kept, words = web.data.shape[1], web.counts.shape[1]
    assert f"{kept} principal components of the {words} counts" in note("txt-3.5-webkb-data")


def test_ism_s_own_test():
    delta = table_5_4.METHODS["ISM, published"].keywords["tol"]
    assert f"the eigenvalues with delta = {delta}," in note("txt-5.5-iterations")


class Seen(Exception):
    """Raised with what a run was called with."""


def seen(*args, **options):
    raise Seen(*args)


def test_samples_of_a_pass_by_features(monkeypatch):
    monkeypatch.setattr(scaling, "make_classes", seen)
    with pytest.raises(Seen) as found:
        next(scaling.passes_by_d(True))
    assert f"With {found.value.args[0]} samples" in note("txt-3.5-bottleneck")


def test_kernel_and_q_of_figure_5_2(monkeypatch):
    monkeypatch.setattr(scaling, "METHODS", dict.fromkeys(scaling.METHODS, seen))
    with pytest.raises(Seen) as found:
        next(scaling.solvers_by_n(True))
    X, gamma, kernel, q = found.value.args
    assert isinstance(kernel, Polynomial)
    assert np.allclose(gamma.to_dense(), label_gamma(np.arange(len(X)) % q).to_dense())
    assert re.match(f"With q = {q} and a polynomial kernel", ledger()["fig-5.2"].says)
