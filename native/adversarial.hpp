// Adversarial rows (Goodfellow et al. 2015): every row of a batch again, moved where its loss grows fastest.
#pragma once

#include "network.hpp"

namespace extranets::EXTRANETS_VARIANT {

// Gradient with respect to the inputs of the batch's first n_rows rows, from batch.output_delta; `out` has the input's
// stride. Without dropout: the activations must come from a plain forward pass.
static inline void input_gradient(Batch& batch, const float* block, const float* derived, int n_rows, float* out) {
    const Layout& layout = batch.layout;
    const Layer& first = layout.layers[0];
    const int stride = layout.width(0);
    for (int l = layout.n_layers - 1; l > 0; --l) backward_to(batch, block, derived, l, n_rows, 1.0f);
    if (layout.n_layers == 1)  // the output layer's weights lie output-major
        dense<Plain>({batch.output_delta, first.n_out, block + first.weights, first.columns, nullptr, first.n_out, out,
                      nullptr, stride, 1.0f}, n_rows, stride);
    else
        dot_rows(batch.delta[1], first.columns, block + first.weights, first.columns, nullptr, n_rows, layout.depth(0),
                 first.columns, out, stride);
}

// Adds to `out` the part of the gradient that reaches the table's columns through their encoding.
static inline void through_encoding(const Batch& batch, const float* block, int n_rows, float* out) {
    const Layout& layout = batch.layout;
    const Encoding& e = *layout.encoding;
    const Layer& first = layout.layers[0];
    const int stride = layout.width(0);
    for (int r = 0; r < n_rows; ++r, out += stride)
        for (int c = 0; c < e.n_columns; ++c) {
            const float x = batch.activation[0][int64_t(r) * stride + e.columns[c]];
            if (layout.by_edges) {
                const Spot spot = find_spot(e, c, x);
                const float* weights = block + first.weights + int64_t(layout.n_inputs + e.first[c] + spot.bin) * first.columns;
                float slope;
                dot_tile<1>(batch.delta[1] + int64_t(r) * first.columns, 0, weights, 0.0f, first.columns, &slope, 1);
                out[e.columns[c]] += slope * spot.slope;
            } else {
                const float* gradient = out + layout.n_inputs + e.first[c];
                out[e.columns[c]] += column_slope(e, c, x, gradient, batch.input.entries(layout, r) + e.first[c]);
            }
        }
}

// Fills rows n_rows ... 2 n_rows - 1 of the batch's input: row + steps * sign(gradient), where sign(0) = 0.
static inline void append_adversarial(Batch& batch, const float* block, const float* derived, const float* steps,
                                      int n_rows) {
    const Layout& layout = batch.layout;
    const int stride = layout.width(0), width = layout.n_inputs;
    const float* rows = batch.activation[0];
    float* moved = batch.activation[0] + int64_t(n_rows) * stride;
    input_gradient(batch, block, derived, n_rows, moved);
    if (layout.encoding) through_encoding(batch, block, n_rows, moved);
    for (int r = 0; r < n_rows; ++r, rows += stride, moved += stride) {
        for (int k = 0; k < width; ++k) {
            const float step = moved[k] > 0 ? steps[k] : (moved[k] < 0 ? -steps[k] : 0.0f);
            moved[k] = rows[k] + step;
        }
        if (layout.encoding) batch.input.encode(layout, n_rows + r);
    }
}

}  // namespace extranets::EXTRANETS_VARIANT
