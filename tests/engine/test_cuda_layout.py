"""Where the CUDA engine puts its numbers: each in a place of its own, and where the kernels look for it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from extranets.encodings import PiecewiseLinear, learn_periodic, learn_piecewise_linear
from extranets.engine import Options
from extranets.engine.cuda import gpu
from extranets.engine.cuda.layout import WORKSPACE_PARTS, Layout, encoding_arrays, padded_rows, problem
from extranets.networks import MOST_LAYERS, Architecture, Ensemble, draw_members
from tests.engine.cuda_on_host import STRUCTURES, measured

X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
BINS, WAVES = learn_piecewise_linear(X, 5), learn_periodic(X, 6)
NOTHING_ENCODED = learn_piecewise_linear(np.zeros((4, 3), dtype=np.float32), 5)

ARCHITECTURES = {
    "linear": Architecture(3, (), 1, 1),
    "linear with heads": Architecture(7, (), 2, 4),
    "one layer": Architecture(3, (5,), 1, 1),
    "several": Architecture(3, (9, 4, 17), 2, 2),
    "Gaussian": Architecture(1, (8, 3), 3, 6),
    "bins": Architecture(3, (6, 5), 1, 1, BINS),
    "bins without a layer": Architecture(3, (), 1, 2, BINS),
    "waves": Architecture(3, (6, 5), 1, 1, WAVES),
    "waves without a layer": Architecture(3, (), 2, 2, WAVES),
    "nothing encoded": Architecture(3, (6,), 1, 1, NOTHING_ENCODED),
}


@pytest.fixture(params=ARCHITECTURES.values(), ids=ARCHITECTURES.keys())
def architecture(request):
    return request.param


def some_members(architecture):
    return draw_members(architecture, 0.7, seed=3, ids=np.arange(4))


def test_packing_and_unpacking_loses_no_bit(architecture):
    members = some_members(architecture)
    parameters = np.random.default_rng(1).normal(size=members.n_parameters).astype(np.float32)
    parameters[:2] = [-0.0, 1e-40]  # arithmetic would change these
    layout = Layout(architecture, 10, trains=True)
    blocks = layout.pack(Ensemble(members, parameters))
    assert blocks.shape == (4, layout.block_size)
    assert layout.unpack(members, blocks).parameters.tobytes() == parameters.tobytes()


def test_every_parameter_has_a_place_of_its_own_in_the_block(architecture):
    layout = Layout(architecture, 10, trains=True)
    for widths in some_members(architecture).widths:
        offsets = layout.offsets(widths)
        assert len(np.unique(offsets)) == architecture.n_parameters(widths)
        assert offsets.min() >= 0 and offsets.max() < layout.block_size


def test_strides_are_multiples_of_four_with_an_odd_quotient(architecture):
    """Wide loads, and no two threads at the same bank of shared memory."""
    layout = Layout(architecture, 10, trains=True)
    for name in ("stride", "activation_stride"):
        quotients, rests = np.divmod(layout.places[name][: layout.n_layers], 4)
        assert (rests == 0).all() and (quotients % 2 == 1).all()


def test_layers_begin_where_wide_loads_may(architecture):
    layout = Layout(architecture, 10, trains=True)
    places = layout.places[: layout.n_layers]
    for part in (layout.x_stride, layout.block_size, layout.values_size, layout.workspace_size, *layout.at.tolist()):
        assert part % 4 == 0 or part == -1
    for name in ("weights", "activation", "delta"):
        assert (places[name] % 4 == 0).all()


@pytest.mark.parametrize("trains", [True, False])
@pytest.mark.parametrize("n_rows", [1, 4, 10])
def test_parts_of_the_workspace_do_not_overlap(architecture, trains, n_rows):
    layout = Layout(architecture, n_rows, trains=trains)
    whole, by_edges = -(-n_rows // 4) * 4, layout.by_edges  # rows that a tile may touch
    places = layout.places
    taken = [(places["activation"][i], whole * places["activation_stride"][i]) for i in range(layout.n_layers)]
    n_encoded = whole * len(architecture.encoding.columns) if by_edges else 0
    sizes = {"heads": whole * architecture.n_heads, "edge": n_encoded, "below": n_encoded, "above": n_encoded}
    if trains:
        taken += [(places["delta"][i], whole * places["stride"][i - 1]) for i in range(1, layout.n_layers)]
        sizes |= {
            "next_input": whole * places["activation_stride"][0],
            "delta_heads": whole * architecture.n_heads,
            "y": 2 * n_rows * architecture.n_outputs,
            "weight": 2 * n_rows,
            "rows": 2 * n_rows,
        }
    taken += [(layout.at[part], size) for part, size in sizes.items()]
    assert all(layout.at[part] == -1 for part in set(WORKSPACE_PARTS) - set(sizes))
    use = np.zeros(layout.workspace_size, dtype=int)
    for begin, size in taken:
        use[begin : begin + size] += 1
        assert begin + size <= layout.workspace_size
    assert use.max() == 1


def test_edges_have_room_for_their_values():
    layout = Layout(ARCHITECTURES["bins"], 10, trains=True)
    assert layout.by_edges and layout.values_size == len(BINS.edges) * layout.places["stride"][0]
    for name in ("bins without a layer", "waves", "nothing encoded", "several"):
        other = Layout(ARCHITECTURES[name], 10, trains=True)
        assert not other.by_edges and other.values_size == 0


def test_a_row_of_the_table_is_followed_by_a_one(architecture):
    n = architecture.n_inputs
    table = np.random.default_rng(2).normal(size=(5, n)).astype(np.float32)
    layout = Layout(architecture, 10, trains=True)
    out = padded_rows(table, layout)
    np.testing.assert_array_equal(out[:, :n], table)
    assert (out[:, n] == 1).all() and (out[:, n + 1 :] == 0).all() and out.shape == (5, layout.x_stride)


def test_layout_does_not_depend_on_the_masks():
    """If it did, members could not be trained in parts."""
    architecture = ARCHITECTURES["several"]
    full = draw_members(architecture, 1.0, seed=3, ids=np.arange(1)).widths[0]
    layout = Layout(architecture, 10, trains=True)
    assert layout.offsets(full).max() < layout.block_size
    for widths in some_members(architecture).widths:
        np.testing.assert_array_equal(layout.offsets(widths)[: widths[0]], layout.offsets(full)[: widths[0]])


# -- what kernels read ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_are_those_of_the_compiler(name):
    dtype = STRUCTURES[name]
    assert measured(name) == [dtype.itemsize, *(dtype.fields[field][1] for field in dtype.names)]


def constant(source, name):
    return int(re.search(rf"constexpr int {name} = (\d+);", gpu.kernel_source(source)).group(1))


def test_constants_are_those_of_the_kernels():
    from extranets.engine.cuda import layout

    assert constant("team", "kThreads") == gpu.MOST_THREADS
    assert constant("team", "kWarp") == gpu.WARP
    assert constant("products", "kTileRows") == layout._TILE_ROWS
    assert constant("problem", "kMostLayers") == MOST_LAYERS + 1


def test_a_problem_holds_what_it_was_given(architecture):
    layout = Layout(architecture, 10, trains=True)
    options = Options("gaussian_nll", 7, 5, beta1=0.8, epsilon=1e-3, dropout_keep=0.5, input_keep=0.75, max_grad_norm=2)
    out = problem(layout, options, seed=2**64 - 3)
    assert out["seed"] == 2**64 - 3
    assert out["options"].tolist() == (1, 7, 5, *np.float32([0.8, 0.999, 1e-3, 0.5, 0.75, 2]).tolist())
    assert [out[name] for name in ("n_inputs", "n_outputs_here", "n_heads_here", "n_layers_here")] == [
        architecture.n_inputs,
        architecture.n_outputs,
        architecture.n_heads,
        len(architecture.hidden) + 1,
    ]
    n_entries = 0 if architecture.encoding is None else int(architecture.encoding.n_entries.sum())
    assert out["encoding"]["n_entries"] == n_entries and out["encoding"]["by_edges"] == layout.by_edges
    assert out["encoding"]["kind"] == (architecture.encoding == WAVES)


def test_arrays_of_an_encoding():
    bins, waves = (encoding_arrays(ARCHITECTURES[name]) for name in ("bins", "waves"))
    assert isinstance(BINS, PiecewiseLinear)
    np.testing.assert_array_equal(bins["numbers"], BINS.edges)
    np.testing.assert_array_equal(bins["first"], [0, 5, 10, 15])
    np.testing.assert_array_equal(waves["numbers"], WAVES.frequencies)
    np.testing.assert_array_equal(waves["first"], [0, 6, 12, 18])
    assert encoding_arrays(ARCHITECTURES["several"]) == {}
