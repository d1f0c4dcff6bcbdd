// Losses per batch: value, and gradient with respect to the network's heads. Mirrors engine/reference.py.
#pragma once

#include "contract.hpp"
#include "simd.hpp"

namespace extranets::EXTRANETS_VARIANT {

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

// The next three functions return the sum over rows of weight * (mean over outputs of the loss), from heads of shape
// (rows, n_heads). Where delta is not null they fill it with d(sum * factor)/d(head), of the same shape.

// One output, the usual case: rows in whole vectors.
static inline double squared_error_vector(const float* heads, const Targets& t, int n_rows, float factor, float* delta) {
    const Vec slope = splat(2.0f * factor);
    Vec sums = zero();
    const auto rows = [&](Vec head, Vec y, Vec weight) {
        const Vec error = subtract(head, y), weighted = mul(weight, error);
        sums = fma(weighted, error, sums);
        return mul(slope, weighted);
    };
    int r = 0;
    for (; r + kLanes <= n_rows; r += kLanes) {
        const Vec gradient = rows(load(heads + r), load(t.y + r), load(t.weight + r));
        if (delta) store(delta + r, gradient);
    }
    if (const int left = n_rows - r) {
        float last[kLanes];
        store(last, rows(load_first(heads + r, left), load_first(t.y + r, left), load_first(t.weight + r, left)));
        for (int i = 0; delta && i < left; ++i) delta[r + i] = last[i];
    }
    return double(sum(sums));
}

static inline double squared_error(const float* heads, const Targets& t, int n_rows, float factor, float* delta) {
    if (t.n_outputs == 1) return squared_error_vector(heads, t, n_rows, factor, delta);
    double total = 0;
    const float per_output = 1.0f / float(t.n_outputs);
    for (int r = 0; r < n_rows; ++r) {
        float row_loss = 0;
        for (int o = 0; o < t.n_outputs; ++o) {
            const int at = r * t.n_outputs + o;
            const float error = heads[at] - t.y[at];
            row_loss += error * error;
            if (delta) delta[at] = 2.0f * per_output * factor * t.weight[r] * error;
        }
        total += double(t.weight[r] * per_output * row_loss);
    }
    return total;
}

// `unit_variance` holds the variance at one, whatever its head says: the warm-up.
static inline double gaussian_nll(const float* heads, const Targets& t, int n_rows, float factor, float* delta,
                                  bool unit_variance) {
    double total = 0;
    const float per_output = 1.0f / float(t.n_outputs);
    for (int r = 0; r < n_rows; ++r) {
        float row_loss = 0;
        for (int o = 0; o < t.n_outputs; ++o) {
            const int mean = 2 * r * t.n_outputs + o, log_variance = mean + t.n_outputs;
            const float s = unit_variance ? 0.0f : clamp_log_variance(heads[log_variance]);
            const float error = heads[mean] - t.y[r * t.n_outputs + o];
            const float precision = std::exp(-s);
            row_loss += 0.5f * (s + error * error * precision);
            if (delta) {
                const float g = per_output * factor * t.weight[r];
                delta[mean] = g * error * precision;
                const bool moves = !unit_variance && s == heads[log_variance];
                delta[log_variance] = moves ? 0.5f * g * (1.0f - error * error * precision) : 0.0f;
            }
        }
        total += double(t.weight[r] * per_output * row_loss);
    }
    return total;
}

// One noise variance per output, the same for all rows: sum over rows of weight * sum over outputs of the negative
// log-likelihood (without its constant), and the gradients of factor times that with respect to heads and log-variances.
static inline double common_noise_nll(const float* heads, const Targets& t, int n_rows, float factor,
                                      const float* log_variance, float* delta, float* d_log_variance) {
    double total = 0;
    for (int o = 0; o < t.n_outputs; ++o) {
        const float s = log_variance[o], precision = std::exp(-s);
        double loss = 0, slope = 0;
        for (int r = 0; r < n_rows; ++r) {
            const int at = r * t.n_outputs + o;
            const float error = heads[at] - t.y[at], scaled = error * precision, square = error * scaled;
            loss += double(t.weight[r] * (s + square));
            slope += double(t.weight[r] * (1.0f - square));
            delta[at] = factor * t.weight[r] * scaled;
        }
        d_log_variance[o] = 0.5f * factor * float(slope);
        total += 0.5 * loss;
    }
    return total;
}

static inline double batch_loss(Loss loss, const float* heads, const Targets& t, int n_rows, float factor, float* delta,
                                bool unit_variance = false) {
    return loss == Loss::gaussian_nll ? gaussian_nll(heads, t, n_rows, factor, delta, unit_variance)
                                      : squared_error(heads, t, n_rows, factor, delta);
}

}  // namespace extranets::EXTRANETS_VARIANT
