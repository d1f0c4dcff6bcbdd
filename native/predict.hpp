// Forward passes of a trained ensemble over many rows. Rows go through in small blocks that stay in the first-level cache
// while every member sees them, so the memory needed does not grow with rows x members x width.
#pragma once

#include "loss.hpp"
#include "network.hpp"
#include "thinned.hpp"

namespace extranets::EXTRANETS_VARIANT {

constexpr int kBlockRows = 64;

static inline Shape member_shape(const EnsembleView& e, int member) {
    return {e.n_inputs, e.n_hidden, e.widths + int64_t(member) * e.n_hidden, e.n_heads, e.encoding};
}

// A member's parameters and, after them, its values at edges: all of the derived block that a forward pass reads.
static inline int64_t packed_size(const Layout& layout) { return layout.size + layout.edge_size; }

static int64_t parameter_count(const Shape& shape) { return Layout(shape).canonical_size; }

static int64_t packed_floats(const EnsembleView& e) {
    int64_t n = 0;
    for (int m = 0; m < e.n_members; ++m) n += packed_size(Layout(member_shape(e, m)));
    return n;
}

static void pack_ensemble(const EnsembleView& e, float* packed) {
    const float* canonical = e.parameters;
    for (int m = 0; m < e.n_members; ++m) {
        const Layout layout(member_shape(e, m));
        pack(layout, canonical, packed);
        refresh_derived(layout, packed, 0, packed + layout.size);
        canonical += layout.canonical_size;
        packed += packed_size(layout);
    }
}

// The most that any member needs.
template <class Need>
static inline int64_t most(const EnsembleView& e, Need&& need) {
    int64_t found = 0;
    for (int m = 0; m < e.n_members; ++m) {
        const int64_t n = need(Layout(member_shape(e, m)));
        found = n > found ? n : found;
    }
    return found;
}

static inline int64_t widest_batch(const EnsembleView& e) {
    return most(e, [](const Layout& layout) { return Batch::floats(layout, kBlockRows); });
}

static inline Thinned room_for_passes(const EnsembleView& e) {
    const int64_t units = most(e, [](const Layout& layout) {
        int64_t n = 0;
        for (int l = 0; l < layout.n_layers; ++l) n += layout.layers[l].n_in;
        return n;
    });
    return Thinned(units, most(e, packed_size));
}

// `to` must have been cleared: the padding behind an encoding is not written.
static inline void load_rows(const Layout& layout, const float* X, int64_t begin, int64_t n, const Input& to) {
    const int stride = layout.width(0), width = layout.n_inputs;
    for (int64_t r = 0; r < n; ++r) copy_padded(X + (begin + r) * width, width, to.rows + r * stride);
    if (layout.encoding)
        for (int64_t r = 0; r < n; ++r) to.encode(layout, r);
}

static void place_rows(const Encoding& e, const float* X, int n_inputs, int64_t begin, int64_t end, uint8_t* bins,
                       float* positions) {
    for (int64_t row = begin; row < end; ++row)
        for (int c = 0; c < e.n_columns; ++c) {
            const Spot spot = find_spot(e, c, X[row * n_inputs + e.columns[c]]);
            bins[row * e.n_columns + c] = uint8_t(spot.bin);
            positions[row * e.n_columns + c] = spot.position;
        }
}

// visit(pass, first row, rows, heads) for every block of rows and every pass.
template <class Visit>
static inline void for_members(const EnsembleView& e, const float* X, int64_t begin, int64_t end, Visit&& visit) {
    const int64_t size = widest_batch(e);
    Buffer<float> memory(size);
    clear(memory.data, size);
    const Layout any(member_shape(e, 0));  // all members have the same input, first in memory
    const Input input(any, kBlockRows, memory.data);
    for (int64_t row = begin; row < end; row += kBlockRows) {
        const int n = int(end - row < kBlockRows ? end - row : kBlockRows);
        load_rows(any, X, row, n, input);
        const float* block = e.packed;
        for (int m = 0; m < e.n_members; ++m) {
            const Layout layout(member_shape(e, m));
            Batch batch(layout, kBlockRows, memory.data);
            forward(batch, block, block + layout.size, n, NoHook{});
            visit(m, row, n, batch.output);
            block += packed_size(layout);
        }
    }
}

// The same for stochastic passes. A pass has one mask for all rows: a row's prediction does not depend on which other rows
// are predicted with it. Drawing and thinning cost about as much as a block of rows, so here the pass is the outer loop.
template <class Visit>
static inline void for_passes(const EnsembleView& e, const float* X, int64_t begin, int64_t end, Visit&& visit) {
    const Layout any(member_shape(e, 0));
    const int64_t input_size = Input::floats(any, end - begin);
    Buffer<float> memory(widest_batch(e)), input_memory(input_size);
    clear(input_memory.data, input_size);
    const Input input(any, end - begin, input_memory.data);
    load_rows(any, X, begin, end - begin, input);
    Thinned thinned = room_for_passes(e);
    const float* parameters = e.packed;
    for (int pass = 0; pass < e.n_passes; ++pass) {
        const int member = pass % e.n_members;
        if (member == 0) parameters = e.packed;
        const Layout whole(member_shape(e, member));
        thinned.draw(e, e.pass_ids[pass], whole);
        const Layout layout = thinned.build(e, whole, parameters);
        Batch batch(layout, kBlockRows, memory.data);
        for (int64_t row = begin; row < end; row += kBlockRows) {
            const int n = int(end - row < kBlockRows ? end - row : kBlockRows);
            batch.read(input.from(any, row - begin));
            forward(batch, thinned.block.data, thinned.block.data + layout.size, n, NoHook{});
            visit(pass, row, n, batch.output);
        }
        parameters += packed_size(whole);
    }
}

template <class Visit>
static inline void for_heads(const EnsembleView& e, const float* X, int64_t begin, int64_t end, Visit&& visit) {
    if (e.pass_ids)
        for_passes(e, X, begin, end, visit);
    else
        for_members(e, X, begin, end, visit);
}

static void forward_rows(const EnsembleView& e, const float* X, int64_t begin, int64_t end, float* out, int64_t pass_stride) {
    for_heads(e, X, begin, end, [&](int pass, int64_t row, int n, const float* heads) {
        copy(heads, int64_t(n) * e.n_heads, out + pass * pass_stride + row * e.n_heads);
    });
}

// Sums over the passes for the rows of one range, of every output. The sums are of differences from the first pass, so
// that a large common value costs no digits.
struct MomentSums {
    const EnsembleView& e;
    double *first, *mean, *variance, *mean_variance;  // of the range's first row; mean_variance may be null

    void start(int64_t row, int n, const float* heads) const {
        for (int r = 0; r < n; ++r)
            for (int o = 0; o < e.n_outputs; ++o) {
                const int64_t at = (row + r) * e.n_outputs + o;
                first[at] = heads[r * e.n_heads + o];
                mean[at] = variance[at] = 0;
                if (mean_variance) mean_variance[at] = 0;
            }
    }

    void add(int64_t at, int n, const float* values) const {
        for (int i = 0; i < n; ++i) {
            const double d = values[i] - first[at + i];
            mean[at + i] += d;
            variance[at + i] += d * d;
        }
    }

    void add_variances(int64_t at, int n, const float* log_variances) const {
        for (int i = 0; i < n; ++i) mean_variance[at + i] += std::exp(double(clamp_log_variance(log_variances[i])));
    }

    void add_rows(int64_t row, int n, const float* heads) const {
        const int outputs = e.n_outputs;
        if (!mean_variance && e.n_heads == outputs) return add(row * outputs, n * outputs, heads);
        for (int r = 0; r < n; ++r, heads += e.n_heads) {
            add((row + r) * outputs, outputs, heads);
            if (mean_variance) add_variances((row + r) * outputs, outputs, heads + outputs);
        }
    }

    void finish(int64_t n_rows) const {
        for (int64_t i = 0; i < n_rows * e.n_outputs; ++i) {
            const double shift = mean[i] / e.n_passes, v = variance[i] / e.n_passes - shift * shift;
            variance[i] = v > 0 ? v : 0;
            mean[i] = first[i] + shift;
            if (mean_variance) mean_variance[i] /= e.n_passes;
        }
    }
};

static void moment_rows(const EnsembleView& e, const float* X, int64_t begin, int64_t end, double* mean, double* variance,
                        double* mean_variance) {
    const int64_t at = begin * e.n_outputs;
    Buffer<double> first((end - begin) * e.n_outputs);
    const MomentSums sums{e, first.data, mean + at, variance + at, mean_variance ? mean_variance + at : nullptr};
    for_heads(e, X, begin, end, [&](int pass, int64_t row, int n, const float* heads) {
        if (pass == 0) sums.start(row - begin, n, heads);
        sums.add_rows(row - begin, n, heads);
    });
    sums.finish(end - begin);
}

static inline void write_jacobian_row(const Batch& batch, int r, float* out) {
    const Layout& layout = batch.layout;
    for (int l = 0; l < layout.n_layers; ++l) {
        const Layer& layer = layout.layers[l];
        const bool output = l == layout.n_layers - 1;
        const float* below = batch.activation[l] + int64_t(r) * layout.width(l);
        const float* delta = output ? batch.output_delta + int64_t(r) * layer.n_out
                                    : batch.delta[l + 1] + int64_t(r) * layer.columns;
        for (int i = 0; i < layer.n_in; ++i)
            for (int j = 0; j < layer.n_out; ++j) *out++ = below[i] * delta[j];
        for (int j = 0; j < layer.n_out; ++j) *out++ = delta[j];
    }
}

static void jacobian_rows(const EnsembleView& e, const float* X, int64_t begin, int64_t end, int head, float* out) {
    const Layout layout(member_shape(e, 0), true);  // every entry of an encoding has a derivative of its own
    const int64_t size = Batch::floats(layout, kBlockRows);
    Buffer<float> memory(size), derived(layout.derived_size);
    clear(memory.data, size);
    clear(derived.data, layout.derived_size);
    for (int l = 0; l < layout.n_layers; ++l) refresh_derived(layout, e.packed, l, derived.data);
    Batch batch(layout, kBlockRows, memory.data);
    for (int r = 0; r < kBlockRows; ++r) batch.output_delta[int64_t(r) * e.n_heads + head] = 1.0f;
    for (int64_t row = begin; row < end; row += kBlockRows) {
        const int n = int(end - row < kBlockRows ? end - row : kBlockRows);
        load_rows(layout, X, row, n, batch.input);
        forward(batch, e.packed, derived.data, n, NoHook{});
        for (int l = layout.n_layers - 1; l > 0; --l) backward_to(batch, e.packed, derived.data, l, n, 1.0f);
        for (int r = 0; r < n; ++r) write_jacobian_row(batch, r, out + (row + r) * layout.canonical_size);
    }
}

}  // namespace extranets::EXTRANETS_VARIANT
