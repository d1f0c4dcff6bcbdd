// Forward passes of a trained ensemble over many rows. Rows go through in small blocks that stay in the first-level cache
// while every member sees them, so the memory needed does not grow with rows x members x width.
#pragma once

#include "loss.hpp"
#include "network.hpp"
#include "philox.hpp"

namespace EXTRANETS_VARIANT {

constexpr int kBlockRows = 64;

static inline Shape member_shape(const EnsembleView& e, int member) {
    return {e.n_inputs, e.n_hidden, e.widths + int64_t(member) * e.n_hidden, e.n_heads};
}

static int64_t parameter_count(const Shape& shape) { return Layout(shape).canonical_size; }

static int64_t packed_floats(const EnsembleView& e) {
    int64_t n = 0;
    for (int m = 0; m < e.n_members; ++m) n += Layout(member_shape(e, m)).size;
    return n;
}

static void pack_ensemble(const EnsembleView& e, float* packed) {
    const float* canonical = e.parameters;
    for (int m = 0; m < e.n_members; ++m) {
        const Layout layout(member_shape(e, m));
        pack(layout, canonical, packed);
        canonical += layout.canonical_size;
        packed += layout.size;
    }
}

// One dropout mask per pass, the same for all rows: a pass is one thinned network, so a row's prediction does not depend on
// which other rows are predicted with it.
struct PassMask {
    const Layout& layout;
    Words& words;
    float keep;

    void operator()(int l, float* activations, int n_rows, int stride) const {
        const int width = layout.layers[l - 1].n_out;
        const float scale = 1.0f / keep;
        for (int j = 0; j < width; ++j) {
            const float factor = words.uniform() < keep ? scale : 0.0f;
            for (int r = 0; r < n_rows; ++r) activations[r * stride + j] *= factor;
        }
    }
};

static inline int64_t widest_batch(const EnsembleView& e) {
    int64_t most = 0;
    for (int m = 0; m < e.n_members; ++m) {
        const int64_t n = Batch::floats(Layout(member_shape(e, m)), kBlockRows);
        most = n > most ? n : most;
    }
    return most;
}

static inline void load_rows(const EnsembleView& e, const float* X, int64_t begin, int n, float* to) {
    const int stride = padded(e.n_inputs);
    for (int r = 0; r < n; ++r) copy_padded(X + (begin + r) * e.n_inputs, e.n_inputs, to + int64_t(r) * stride);
}

// visit(pass, first row, rows, heads, stride) for every block of rows and every pass.
template <class Visit>
static inline void for_passes(const EnsembleView& e, const float* X, int64_t begin, int64_t end, Visit&& visit) {
    const int64_t size = widest_batch(e);
    Buffer<float> memory(size);
    clear(memory.data, size);
    for (int64_t row = begin; row < end; row += kBlockRows) {
        const int n = int(end - row < kBlockRows ? end - row : kBlockRows);
        load_rows(e, X, row, n, memory.data);
        const float* block = e.packed;
        for (int pass = 0; pass < e.n_passes; ++pass) {
            const int member = pass % e.n_members;
            if (member == 0) block = e.packed;
            const Layout layout(member_shape(e, member));
            Batch batch(layout, kBlockRows, memory.data);
            if (e.pass_ids) {
                Words words(make_stream(e.seed, e.pass_ids[pass], Purpose::pass, 0, 0));
                forward(batch, block, n, PassMask{layout, words, e.dropout_keep});
            } else {
                forward(batch, block, n, NoHook{});
            }
            visit(pass, row, n, batch.output, e.n_heads);
            block += layout.size;
        }
    }
}

static void forward_rows(const EnsembleView& e, const float* X, int64_t begin, int64_t end, float* out, int64_t pass_stride) {
    for_passes(e, X, begin, end, [&](int pass, int64_t row, int n, const float* heads, int stride) {
        for (int r = 0; r < n; ++r)
            copy(heads + r * stride, e.n_heads, out + pass * pass_stride + (row + r) * e.n_heads);
    });
}

// Sums are taken about the first pass, so that a large common value costs no digits.
static void moment_rows(const EnsembleView& e, const float* X, int64_t begin, int64_t end, double* mean, double* variance,
                        double* mean_variance) {
    const int outputs = e.n_outputs;
    Buffer<double> first(int64_t(kBlockRows) * outputs);
    for_passes(e, X, begin, end, [&](int pass, int64_t row, int n, const float* heads, int stride) {
        const bool last = pass == e.n_passes - 1;
        for (int r = 0; r < n; ++r) {
            for (int o = 0; o < outputs; ++o) {
                const int64_t at = (row + r) * outputs + o;
                const double value = heads[r * stride + o];
                if (pass == 0) {
                    first.data[r * outputs + o] = value;
                    mean[at] = variance[at] = 0;
                    if (mean_variance) mean_variance[at] = 0;
                }
                const double d = value - first.data[r * outputs + o];
                mean[at] += d;
                variance[at] += d * d;
                if (mean_variance)
                    mean_variance[at] += std::exp(double(clamp_log_variance(heads[r * stride + outputs + o])));
                if (last) {
                    const double shift = mean[at] / e.n_passes;
                    const double v = variance[at] / e.n_passes - shift * shift;
                    variance[at] = v > 0 ? v : 0;
                    mean[at] = first.data[r * outputs + o] + shift;
                    if (mean_variance) mean_variance[at] /= e.n_passes;
                }
            }
        }
    });
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
    const Layout layout(member_shape(e, 0));
    const int64_t size = Batch::floats(layout, kBlockRows);
    Buffer<float> memory(size), transposed(layout.transposed_size);
    clear(memory.data, size);
    clear(transposed.data, layout.transposed_size);
    for (int l = 0; l < layout.n_layers; ++l) refresh_transposed(layout, e.packed, l, transposed.data);
    Batch batch(layout, kBlockRows, memory.data);
    for (int r = 0; r < kBlockRows; ++r) batch.output_delta[int64_t(r) * e.n_heads + head] = 1.0f;
    for (int64_t row = begin; row < end; row += kBlockRows) {
        const int n = int(end - row < kBlockRows ? end - row : kBlockRows);
        load_rows(e, X, row, n, batch.activation[0]);
        forward(batch, e.packed, n, NoHook{});
        for (int l = layout.n_layers - 1; l > 0; --l) backward_to(batch, e.packed, transposed.data, l, n, 1.0f);
        for (int r = 0; r < n; ++r) write_jacobian_row(batch, r, out + (row + r) * layout.canonical_size);
    }
}

}  // namespace EXTRANETS_VARIANT
