// Probabilistic back-propagation (Hernandez-Lobato & Adams, 2015): a Gaussian posterior for every weight, updated row by row.
// Mirrors engine/reference_pbp.py, where the formulas are explained. In double precision, because variances shrink by tiny
// relative steps.
#pragma once

#include "member.hpp"
#include "mills.hpp"

// Loops over units become vector code; sums may be taken in any order.
#define EXTRANETS_UNITS _Pragma("omp simd")

namespace extranets::EXTRANETS_VARIANT {

constexpr double kSmallestVariance = 1e-100;
constexpr double kSmallestShape = 6.0;  // of a gamma distribution; training starts with it
constexpr double kSmallestCavity = 1e-6;  // precision
constexpr double kLargestMove = 5.0;  // of a weight by its prior, in standard deviations

EXTRANETS_INLINE int padded_doubles(int n) { return (n + 7) / 8 * 8; }

struct Gamma {
    double a, b;
};

// The gamma distribution of a precision after an error with variance `variance + 1 / (weight * precision)`. Returns
// false and changes nothing where the result would be less certain than at the start.
static inline bool update_gamma(const Gamma g, double variance, double error, double weight, Gamma& out) {
    const double rate = g.b / weight;
    const double middle = variance + rate / g.a;
    const double share = rate / g.a / middle;
    const double first = share / (g.a - 1.0);
    const double c = 1.0 / ((g.a - 1.0) * (g.a + 1.0));
    const double product = share * (2.0 - share) * c;
    const double squared = error * error / middle;
    const double log_ratio = squared * share * (1.0 - share) * c / (1.0 + product) - 0.5 * std::log1p(product);
    const double factor = 1.0 + (g.a + 1.0) * std::expm1(log_ratio);
    const Gamma next{g.a / factor,
                     g.b / (factor * std::sqrt(1.0 + first)) * std::exp(0.5 * squared * first / (1.0 + first))};
    const bool valid = next.a >= kSmallestShape && next.b > 0.0 && is_finite(next.b);
    if (valid) out = next;
    return valid;
}

// Means and variances of weights, of inputs or of sums.
struct Pair {
    double* mean;
    double* variance;
};

// An update that leads outside the valid range is left out. Then zero is added, because a store under a condition would keep
// the compiler from making vector code.
EXTRANETS_INLINE void update_weight(double& mean, double& variance, double by_mean, double by_variance) {
    const double step = variance * by_mean;
    const double loss = variance * variance * (by_mean * by_mean - 2.0 * by_variance);
    const double m = mean + step, v = variance - loss;
    const bool valid = int(v > kSmallestVariance) & int(is_finite(v + m));  // not &&, which would branch
    mean += valid ? step : 0.0;
    variance -= valid ? loss : 0.0;
}

// Weights lie input-major, with whole vectors of units; the output layer has one unit and lies in whole vectors of inputs.
// Passed by value, so that the pointers stay in registers whatever the loops write.
struct PbpLayer {
    int n_in;  // with the constant 1 of the bias, which comes last
    int n_out;
    int rows, width;  // as stored: inputs and units, one of them padded
    double scale;  // 1 / sqrt(n_in)
    Pair weight;
    Pair input;  // scaled
    Pair by_input;  // gradients with respect to the scaled inputs; zero for the bias, which has no unit below it
    Pair sum;
    Pair by_sum;
    double *mean_by_mean, *mean_by_variance, *variance_by_mean, *variance_by_variance;  // of the rectified sums
};

// `kData`: the inputs are a row of the data and have no variance.
template <bool kData>
static inline void weighted_sums(const PbpLayer layer) {
    const int width = layer.width;
    double* __restrict mean = layer.sum.mean;
    double* __restrict variance = layer.sum.variance;
    for (int j = 0; j < width; ++j) mean[j] = variance[j] = 0.0;
    for (int i = 0; i < layer.n_in; ++i) {
        const double z = layer.input.mean[i], spread = kData ? 0.0 : layer.input.variance[i], square = z * z + spread;
        const double* m = layer.weight.mean + int64_t(i) * width;
        const double* v = layer.weight.variance + int64_t(i) * width;
        EXTRANETS_UNITS
        for (int j = 0; j < width; ++j) {
            mean[j] += m[j] * z;
            variance[j] += kData ? v[j] * square : v[j] * square + m[j] * m[j] * spread;
        }
    }
}

// In eight partial sums, whatever the width of a vector: predictions add the same numbers in the same order everywhere.
static inline void output_sums(const PbpLayer layer, double& mean, double& variance) {
    const Pair w = layer.weight, in = layer.input;
    double totals[8] = {}, spreads[8] = {};
    for (int i = 0; i < layer.rows; i += 8)
        EXTRANETS_UNITS
        for (int k = 0; k < 8; ++k) {
            const double m = w.mean[i + k], z = in.mean[i + k];
            totals[k] += m * z;
            spreads[k] += w.variance[i + k] * (z * z + in.variance[i + k]) + m * m * in.variance[i + k];
        }
    mean = variance = 0.0;
    for (int k = 0; k < 8; ++k) mean += totals[k], variance += spreads[k];
}

// The moments of the rectified sums become the scaled inputs of the layer above.
static inline void rectify(const PbpLayer layer, const PbpLayer& above) {
    const double scale = above.scale;
    const Pair in = above.input;
    EXTRANETS_UNITS
    for (int j = 0; j < layer.width; ++j) {
        const double variance = layer.sum.variance[j];
        const double deviation = std::sqrt(variance), inverse = 1.0 / deviation;
        const double alpha = layer.sum.mean[j] * inverse;
        const double distance = alpha < 0.0 ? -alpha : alpha;
        const double density = 0.3989422804014327 * exp_negative(-0.5 * distance * distance);
        const double mills = mills_ratio(distance);
        const double tail = density * mills;
        const double excess = density * (1.0 - distance * mills);
        const double square = tail - distance * excess;
        const bool positive = alpha > 0.0;
        const double above_zero = positive ? 1.0 - tail : tail, below_zero = positive ? tail : 1.0 - tail;
        const double mean = (positive ? alpha : 0.0) + excess;
        const double spread = (positive ? 1.0 - square - 2.0 * distance * excess : square) - excess * excess;
        in.mean[j] = scale * deviation * mean;
        in.variance[j] = scale * scale * variance * spread;
        layer.mean_by_mean[j] = scale * above_zero;
        layer.mean_by_variance[j] = scale * 0.5 * density * inverse;
        layer.variance_by_mean[j] = scale * scale * 2.0 * deviation * mean * below_zero;
        layer.variance_by_variance[j] = scale * scale * (above_zero - mean * density);
    }
    in.mean[layer.n_out] = scale;
    in.variance[layer.n_out] = 0.0;
}

static inline void unrectify(const PbpLayer layer, const Pair& by_input) {
    EXTRANETS_UNITS
    for (int j = 0; j < layer.width; ++j) {
        layer.by_sum.mean[j] = by_input.mean[j] * layer.mean_by_mean[j] + by_input.variance[j] * layer.variance_by_mean[j];
        layer.by_sum.variance[j] =
            by_input.mean[j] * layer.mean_by_variance[j] + by_input.variance[j] * layer.variance_by_variance[j];
    }
}

// Gradients with respect to the inputs are taken with the old weights, in the same sweep that updates them.
template <bool kData>
static inline void update_layer(const PbpLayer layer) {
    const int width = layer.width;
    const double* dm = layer.by_sum.mean;
    const double* dv = layer.by_sum.variance;
    for (int i = 0; i < layer.n_in; ++i) {
        const double z = layer.input.mean[i], spread = kData ? 0.0 : layer.input.variance[i], square = z * z + spread;
        double* m = layer.weight.mean + int64_t(i) * width;
        double* v = layer.weight.variance + int64_t(i) * width;
        double by_mean = 0.0, by_square = 0.0, by_spread = 0.0;
        _Pragma("omp simd reduction(+ : by_mean, by_square, by_spread)")
        for (int j = 0; j < width; ++j) {
            if (!kData) {
                by_mean += dm[j] * m[j];
                by_square += dv[j] * v[j];
                by_spread += dv[j] * m[j] * m[j];
            }
            const double gradient = kData ? z * dm[j] : z * dm[j] + 2.0 * spread * m[j] * dv[j];
            update_weight(m[j], v[j], gradient, square * dv[j]);
        }
        if (!kData && i < layer.n_in - 1) {
            layer.by_input.mean[i] = by_mean + 2.0 * z * by_square;
            layer.by_input.variance[i] = by_square + by_spread;
        }
    }
}

static inline void update_output(const PbpLayer layer, double dm, double dv) {
    const Pair w = layer.weight, in = layer.input, by = layer.by_input;
    EXTRANETS_UNITS
    for (int i = 0; i < layer.rows; ++i) {
        const double z = in.mean[i], spread = in.variance[i], m = w.mean[i], v = w.variance[i];
        by.mean[i] = dm * m + 2.0 * z * dv * v;
        by.variance[i] = dv * (v + m * m);
        update_weight(w.mean[i], w.variance[i], z * dm + 2.0 * spread * m * dv, (z * z + spread) * dv);
    }
    by.mean[layer.n_in - 1] = by.variance[layer.n_in - 1] = 0.0;
}

// A network and the memory for one row. Padding has weights of mean 0. Padded units have variance 1, so that their moments
// are finite, and no gradient; padded inputs of the output have variance 0, which no update changes.
struct PbpNetwork {
    int n_layers;
    PbpLayer layers[kMaxLayers];
    Buffer<double> memory;

    static int64_t doubles(const PbpLayer& l) {
        const int64_t inputs = padded_doubles(l.n_in);
        return 2 * int64_t(l.rows) * l.width + 4 * inputs + 8 * int64_t(l.width);
    }

    static PbpLayer plan(const Shape& shape, int l) {
        PbpLayer layer{};
        const bool output = l == shape.n_hidden;
        layer.n_in = (l == 0 ? shape.n_inputs : shape.widths[l - 1]) + 1;
        layer.n_out = output ? 1 : shape.widths[l];
        layer.rows = output ? padded_doubles(layer.n_in) : layer.n_in;
        layer.width = output ? 1 : padded_doubles(layer.n_out);
        layer.scale = 1.0 / std::sqrt(double(layer.n_in));
        return layer;
    }

    static int64_t all_doubles(const Shape& shape) {
        int64_t n = 0;
        for (int l = 0; l <= shape.n_hidden; ++l) n += doubles(plan(shape, l));
        return n;
    }

    explicit PbpNetwork(const Shape& shape) : n_layers(shape.n_hidden + 1), memory(all_doubles(shape)) {
        double* next = memory.data;
        const auto take = [&](int64_t n) {
            double* p = next;
            next += n;
            for (int64_t i = 0; i < n; ++i) p[i] = 0.0;
            return p;
        };
        const auto take_pair = [&](int64_t n) {
            double* mean = take(n);
            return Pair{mean, take(n)};
        };
        for (int l = 0; l < n_layers; ++l) {
            PbpLayer& layer = layers[l];
            layer = plan(shape, l);
            layer.weight = take_pair(int64_t(layer.rows) * layer.width);
            layer.input = take_pair(padded_doubles(layer.n_in));
            layer.by_input = take_pair(padded_doubles(layer.n_in));
            layer.sum = take_pair(layer.width);
            layer.by_sum = take_pair(layer.width);
            layer.mean_by_mean = take(layer.width);
            layer.mean_by_variance = take(layer.width);
            layer.variance_by_mean = take(layer.width);
            layer.variance_by_variance = take(layer.width);
            for (int64_t i = 0; layer.width > 1 && i < int64_t(layer.rows) * layer.width; ++i) layer.weight.variance[i] = 1.0;
        }
    }

    // visit(layer, padded offset, canonical offset) for every weight.
    template <class Visit>
    void for_weights(Visit&& visit) const {
        int64_t at = 0;
        for (int l = 0; l < n_layers; ++l)
            for (int i = 0; i < layers[l].n_in; ++i)
                for (int j = 0; j < layers[l].n_out; ++j) visit(layers[l], int64_t(i) * layers[l].width + j, at++);
    }
    void read(const double* mean, const double* variance) {
        for_weights([&](const PbpLayer& layer, int64_t to, int64_t from) {
            layer.weight.mean[to] = mean[from];
            layer.weight.variance[to] = variance[from];
        });
    }
    void write(double* mean, double* variance) const {
        for_weights([&](const PbpLayer& layer, int64_t from, int64_t to) {
            mean[to] = layer.weight.mean[from];
            variance[to] = layer.weight.variance[from];
        });
    }

    void forward(const float* x, double& mean, double& variance) {
        const PbpLayer& first = layers[0];
        for (int i = 0; i < first.n_in - 1; ++i) first.input.mean[i] = first.scale * double(x[i]);
        first.input.mean[first.n_in - 1] = first.scale;
        for (int l = 0; l + 1 < n_layers; ++l) {
            if (l == 0) weighted_sums<true>(layers[l]);
            else weighted_sums<false>(layers[l]);
            rectify(layers[l], layers[l + 1]);
        }
        output_sums(layers[n_layers - 1], mean, variance);
    }

    // All weights, from the gradient with respect to the output's moments.
    void update(double by_mean, double by_variance) {
        update_output(layers[n_layers - 1], by_mean, by_variance);
        for (int l = n_layers - 2; l >= 0; --l) {
            unrectify(layers[l], layers[l + 1].by_input);
            if (l == 0) update_layer<true>(layers[l]);
            else update_layer<false>(layers[l]);
        }
    }
};

// What the prior contributes to a weight's posterior and to the distribution of its precision.
struct PriorFactor {
    double precision, a, b;
};

struct PbpTrainer {
    const Data& data;
    const PbpTask& task;
    Control& control;
    PbpNetwork network;
    Buffer<PriorFactor> factors;
    Buffer<uint32_t> sample, order;
    int64_t n_sample = 0;
    Gamma noise, prior;

    int times(int64_t row) const { return data.weight && !(data.weight[row] > 0) ? 0 : task.counts ? task.counts[row] : 1; }

    static int64_t most_rows(const Data& data, const PbpTask& task) {
        int64_t n = 0;
        for (int64_t i = 0; i < data.n_rows; ++i) n += task.counts ? task.counts[i] : 1;
        return n;
    }

    PbpTrainer(const Data& d, const PbpTask& t, Control& c)
        : data(d), task(t), control(c), network(t.shape), factors(Layout(t.shape).canonical_size),
          sample(most_rows(d, t)), order(most_rows(d, t)), noise{t.noise[0], t.noise[1]}, prior{t.prior[0], t.prior[1]} {
        network.read(task.mean, task.variance);
        const double precision = (prior.a - 1.0) / prior.b;
        network.for_weights([&](const PbpLayer&, int64_t, int64_t at) { factors.data[at] = {precision, 0, 0}; });
        for (int64_t row = 0; row < data.n_rows; ++row)
            for (int k = times(row); k > 0; --k) sample.data[n_sample++] = uint32_t(row);
    }

    void learn(int64_t row) {
        double mean, variance;
        network.forward(data.X + row * data.n_inputs, mean, variance);
        const double weight = data.weight ? double(data.weight[row]) : 1.0;
        const double error = double(data.y[row * data.n_outputs + task.target]) - mean;
        const double total = variance + noise.b / weight / (noise.a - 1.0);
        network.update(error / total, 0.5 * (error * error / total - 1.0) / total);
        update_gamma(noise, variance, error, weight, noise);
    }

    // Expectation propagation: the old factor is replaced by the exact prior, and the moments of the result are kept.
    void refine(double& mean, double& variance, PriorFactor& factor) {
        const double precision = 1.0 / variance - factor.precision, shift = mean / variance;
        const Gamma cavity{prior.a - factor.a, prior.b - factor.b};
        if (!(precision > kSmallestCavity && cavity.a > 1.0 && cavity.b > 0.0)) return;
        const double next = (cavity.a - 1.0) / cavity.b, next_variance = 1.0 / (precision + next);
        const double move = shift * next_variance - mean;
        // Nothing else keeps the weight from running away.
        if (!(move * move <= kLargestMove * kLargestMove * variance)) return;
        factor.precision = next;
        variance = next_variance;
        mean = shift * variance;
        if (!update_gamma(cavity, 1.0 / precision, shift / precision, 1.0, prior)) return;
        factor.a = prior.a - cavity.a;
        factor.b = prior.b - cavity.b;
    }

    void pass(int index) {
        for (int64_t i = 0; i < n_sample; ++i) order.data[i] = sample.data[i];
        shuffle(order.data, n_sample, make_stream(task.seed, task.id, Purpose::shuffle, 0, uint32_t(index)));
        for (int64_t i = 0; i < n_sample; ++i) {
            if (control.cancelled.load(std::memory_order_relaxed)) return;
            learn(order.data[i]);
        }
        network.for_weights([&](const PbpLayer& layer, int64_t at, int64_t canonical) {
            refine(layer.weight.mean[at], layer.weight.variance[at], factors.data[canonical]);
        });
        control.epochs_done.fetch_add(1, std::memory_order_relaxed);
    }
};

static void pbp_train(const Data& data, const PbpTask& task, Control& control) {
    const FlushDenormals flush;
    PbpTrainer trainer(data, task, control);
    for (int p = 0; p < task.n_passes && !control.cancelled.load(std::memory_order_relaxed); ++p) trainer.pass(p);
    trainer.network.write(task.mean, task.variance);
    task.noise[0] = trainer.noise.a, task.noise[1] = trainer.noise.b;
    task.prior[0] = trainer.prior.a, task.prior[1] = trainer.prior.b;
}

static void pbp_moments(const Shape& shape, const double* weight_mean, const double* weight_variance, const float* X,
                        int64_t begin, int64_t end, double* mean, double* variance) {
    const FlushDenormals flush;
    PbpNetwork network(shape);
    network.read(weight_mean, weight_variance);
    for (int64_t row = begin; row < end; ++row) network.forward(X + row * shape.n_inputs, mean[row], variance[row]);
}

}  // namespace extranets::EXTRANETS_VARIANT
