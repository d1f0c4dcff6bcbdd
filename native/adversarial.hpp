// Adversarial rows (Goodfellow et al. 2015): every row of a batch again, moved where its loss grows fastest.
#pragma once

#include "network.hpp"

namespace EXTRANETS_VARIANT {

// Gradient with respect to the inputs of the batch's first n_rows rows, from batch.output_delta; `out` has the input's
// stride. Without dropout: the activations must come from a plain forward pass.
static inline void input_gradient(Batch& batch, const float* block, const float* transposed, int n_rows, float* out) {
    const Layout& layout = batch.layout;
    const Layer& first = layout.layers[0];
    const int stride = layout.width(0);
    for (int l = layout.n_layers - 1; l > 0; --l) backward_to(batch, block, transposed, l, n_rows, 1.0f);
    if (layout.n_layers == 1)  // the output layer's weights lie output-major
        dense<Plain>({batch.output_delta, first.n_out, block + first.weights, first.columns, nullptr, first.n_out, out,
                      nullptr, stride, 1.0f}, n_rows, stride);
    else
        dot_rows(batch.delta[1], first.columns, block + first.weights, first.columns, nullptr, n_rows, first.n_in,
                 first.columns, out, stride);
}

// Fills rows n_rows ... 2 n_rows - 1 of the batch's input: row + steps * sign(gradient), where sign(0) = 0.
static inline void append_adversarial(Batch& batch, const float* block, const float* transposed, const float* steps,
                                      int n_rows) {
    const int stride = batch.layout.width(0), width = batch.layout.layers[0].n_in;
    const float* rows = batch.activation[0];
    float* moved = batch.activation[0] + int64_t(n_rows) * stride;
    input_gradient(batch, block, transposed, n_rows, moved);
    for (int r = 0; r < n_rows; ++r, rows += stride, moved += stride)
        for (int k = 0; k < width; ++k) {
            const float step = moved[k] > 0 ? steps[k] : (moved[k] < 0 ? -steps[k] : 0.0f);
            moved[k] = rows[k] + step;
        }
}

}  // namespace EXTRANETS_VARIANT
