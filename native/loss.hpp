// Losses per batch: value, and gradient with respect to the network's heads. Mirrors engine/reference.py.
#pragma once

#include "contract.hpp"
#include "simd.hpp"

namespace EXTRANETS_VARIANT {

// Log-variances are clamped here; beyond, exp() would let one row dominate a batch. The gradient is zero outside.
constexpr float kLogVarianceLimit = 14.0f;

EXTRANETS_INLINE float clamp_log_variance(float s) {
    return s < -kLogVarianceLimit ? -kLogVarianceLimit : (s > kLogVarianceLimit ? kLogVarianceLimit : s);
}

// Where the batch's targets and weights lie: y is (rows, n_outputs), weight (rows).
struct Targets {
    const float* y;
    const float* weight;
    int n_outputs;
};

// Sum over rows of weight * mean over outputs of the loss. Writes d(sum * factor)/d(head) when delta is not null.
static inline double squared_error(const float* heads, int stride, const Targets& t, int n_rows, float factor, float* delta) {
    double total = 0;
    const float per_output = 1.0f / float(t.n_outputs);
    for (int r = 0; r < n_rows; ++r) {
        float row_loss = 0;
        for (int o = 0; o < t.n_outputs; ++o) {
            const float error = heads[r * stride + o] - t.y[r * t.n_outputs + o];
            row_loss += error * error;
            if (delta) delta[r * stride + o] = 2.0f * per_output * factor * t.weight[r] * error;
        }
        total += double(t.weight[r] * per_output * row_loss);
    }
    return total;
}

static inline double gaussian_nll(const float* heads, int stride, const Targets& t, int n_rows, float factor, float* delta) {
    double total = 0;
    const float per_output = 1.0f / float(t.n_outputs);
    for (int r = 0; r < n_rows; ++r) {
        float row_loss = 0;
        for (int o = 0; o < t.n_outputs; ++o) {
            const float raw = heads[r * stride + t.n_outputs + o];
            const float s = clamp_log_variance(raw);
            const float error = heads[r * stride + o] - t.y[r * t.n_outputs + o];
            const float precision = std::exp(-s);
            row_loss += 0.5f * (s + error * error * precision);
            if (delta) {
                const float g = per_output * factor * t.weight[r];
                delta[r * stride + o] = g * error * precision;
                delta[r * stride + t.n_outputs + o] = s == raw ? 0.5f * g * (1.0f - error * error * precision) : 0.0f;
            }
        }
        total += double(t.weight[r] * per_output * row_loss);
    }
    return total;
}

static inline double batch_loss(Loss loss, const float* heads, int stride, const Targets& t, int n_rows, float factor,
                                float* delta) {
    return loss == Loss::gaussian_nll ? gaussian_nll(heads, stride, t, n_rows, factor, delta)
                                      : squared_error(heads, stride, t, n_rows, factor, delta);
}

}  // namespace EXTRANETS_VARIANT
