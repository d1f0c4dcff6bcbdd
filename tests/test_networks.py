"""Masks and members."""

from __future__ import annotations

import numpy as np
import pytest

from extranets.networks import Architecture, Ensemble, draw_members


def architecture(*hidden):
    return Architecture(n_inputs=3, hidden=hidden, n_outputs=1, n_heads=1)


def test_units_are_kept_with_the_given_probability():
    """20,000 Bernoulli draws: the share lies within 4 standard errors of p."""
    members = draw_members(architecture(100), 0.8, seed=1, ids=np.arange(200))
    assert abs(members.masks.mean() - 0.8) < 4 * np.sqrt(0.8 * 0.2 / 20_000)
    np.testing.assert_array_equal(members.widths[:, 0], members.masks.sum(axis=1))


def test_keep_prob_one_keeps_everything():
    assert draw_members(architecture(7, 5), 1.0, seed=1, ids=[0, 1]).masks.all()


def test_a_member_does_not_depend_on_the_others():
    many = draw_members(architecture(20, 10), 0.5, seed=4, ids=np.arange(50))
    one = draw_members(architecture(20, 10), 0.5, seed=4, ids=[17])
    np.testing.assert_array_equal(many.masks[17], one.masks[0])


def test_null_masks_are_redrawn_or_dropped():
    """With one unit kept with probability 1/2, about half of the members are null; 4 standard errors of 400 draws."""
    redrawn = draw_members(architecture(1), 0.5, seed=2, ids=np.arange(400))
    dropped = draw_members(architecture(1), 0.5, seed=2, ids=np.arange(400), null="drop")
    assert len(redrawn) == 400 and (redrawn.widths == 1).all()
    assert abs(len(dropped) - 200) < 4 * np.sqrt(100)
    assert set(dropped.ids) < set(redrawn.ids)


def test_hopeless_keep_prob_is_an_error():
    with pytest.raises(ValueError, match=r"keep_prob=1e-06.*larger keep_prob"):
        draw_members(architecture(2), 1e-6, seed=0, ids=[0])


def test_no_hidden_layer():
    members = draw_members(architecture(), 0.5, seed=0, ids=[0, 1])
    assert members.widths.shape == (2, 0)
    assert members.offsets.tolist() == [0, 4, 8]


def test_slices_and_concatenation_keep_parameters_with_their_members():
    members = draw_members(architecture(6), 0.5, seed=3, ids=np.arange(5))
    ensemble = Ensemble(members, np.arange(members.offsets[-1], dtype=np.float32))
    again = ensemble[:2] + ensemble[2:]
    np.testing.assert_array_equal(again.parameters, ensemble.parameters)
    np.testing.assert_array_equal(again.members.ids, members.ids)
    middle = ensemble[2:4]
    assert len(middle) == 2
    np.testing.assert_array_equal(middle.parameters, ensemble.parameters[members.offsets[2] : members.offsets[4]])
