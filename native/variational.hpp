// Variational inference with independent Gaussian weights for one member, with reparameterised gradients or Graves's. Mirrors
// engine/reference_variational.py, which has the formulas.
#pragma once

#include "adam.hpp"
#include "learner.hpp"
#include "normal.hpp"

namespace extranets::EXTRANETS_VARIANT {

constexpr float kInitialStd = 0.05f;  // INITIAL_STD and WARM_UP in engine/reference_variational.py
constexpr double kWarmUp = 0.5;

// Numbers that Adam learns, starting from zero.
struct Learned {
    int64_t n;
    Buffer<float> value, first, second;
    Adam adam;

    Learned(int64_t size, const Options& options)
        : n(size), value(n), first(n), second(n), adam(value.data, first.data, second.data, options) {
        clear(value.data, n);
        clear(first.data, n);
        clear(second.data, n);
    }
    // An overflowed second moment freezes its number for ever without showing in the loss.
    bool finite() const {
        for (int64_t i = 0; i < n; ++i)
            if (!is_finite(second.data[i])) return false;
        return true;
    }
};

// Padding has mean 0, log_std 0, sigma 0, draw 0 and present 0: then its gradients are zero too, and sums may run over the
// whole block.
struct VariationalTrainer : Learner {
    VariationalTask& task;
    Learned mean, log_std, log_noise;
    Buffer<float> present;  // 1 for parameters, 0 for padding
    Buffer<float> sigma, draw, weights;  // of this step: weights = mean + sigma * draw
    Buffer<float> derived, canonical_draw, d_log_noise;
    Buffer<float> gradient;  // of this step's weights, kept for Graves's second pass
    double prior_mean = 0, prior_variance = 1;

    VariationalTrainer(const Data& d, const Options& o, VariationalTask& t, Control& c)
        : Learner(d, o, t, c), task(t), mean(layout.size, o), log_std(layout.size, o), log_noise(padded(d.n_outputs), o),
          present(layout.size), sigma(layout.size), draw(layout.size), weights(layout.size),
          derived(layout.derived_size), canonical_draw(normals_room(layout.canonical_size)),
          d_log_noise(padded(d.n_outputs)), gradient(t.graves ? layout.size : 0) {
        clear(present.data, layout.size);
        clear(draw.data, layout.size);
        clear(derived.data, layout.derived_size);
        clear(d_log_noise.data, log_noise.n);
        initialise(layout, make_stream(o.seed, t.id, Purpose::init, 0, 0), mean.value.data);
        const float start = std::log(kInitialStd);
        for_canonical(layout, [&](int64_t at, int64_t) {
            present.data[at] = 1.0f;
            log_std.value.data[at] = start;
        });
        fit_prior();
    }

    void refresh_sigma() {
        const float *from = log_std.value.data, *is = present.data;
        float* to = sigma.data;
        for (int64_t i = 0; i < layout.size; ++i) to[i] = is[i] * exp_of(from[i]);
    }

    void draw_weights(int64_t step_index) {
        draw_normals(make_stream(options.seed, member.id, Purpose::weights, 0, uint32_t(step_index)), layout.canonical_size,
                     canonical_draw.data);
        for_canonical(layout, [&](int64_t to, int64_t from) { draw.data[to] = canonical_draw.data[from]; });
        refresh_sigma();
        for (int64_t i = 0; i < layout.size; i += kLanes)
            store(weights.data + i, fma(load(sigma.data + i), load(draw.data + i), load(mean.value.data + i)));
        for (int l = 0; l < layout.n_layers; ++l) refresh_derived(layout, weights.data, l, derived.data);
    }

    // Backward pass, with the complexity cost's part added to each gradient before Adam gets it.
    void update_weights(int n, double complexity_weight) {
        const double per_row = complexity_weight / double(train_rows.n);
        const Vec share = splat(float(per_row)), pull = splat(float(per_row / prior_variance));
        const Vec centre = splat(float(prior_mean));
        const auto update = [&](int64_t at, Vec g, Vec slope) {
            const Vec is = load(present.data + at);
            const Vec from_centre = subtract(load(mean.value.data + at), mul(is, centre));
            mean.adam.update(at, fma(from_centre, pull, g), false);
            log_std.adam.update(at, subtract(slope, mul(is, share)), false);
        };
        const auto sink = [&](int64_t at, Vec g, bool) {
            const Vec s = load(sigma.data + at);
            update(at, g, mul(s, fma(g, load(draw.data + at), mul(s, pull))));
        };
        const auto keep = [&](int64_t at, Vec g, bool) { store(gradient.data + at, g); };
        const auto squares_sink = [&](int64_t at, Vec squares, bool) {
            const Vec s = load(sigma.data + at);
            update(at, load(gradient.data + at), mul(mul(s, s), add(squares, pull)));
        };
        for (int l = layout.n_layers - 1; l >= 0; --l) {
            if (l > 0) backward_to(batch, weights.data, derived.data, l, n, 1.0f);
            if (!task.graves) {
                layer_gradient(batch, l, n, sink);
            } else {
                layer_gradient(batch, l, n, keep);
                square_rows(l, n);
                layer_gradient(batch, l, n, squares_sink);
            }
        }
    }

    // Squares what the layer's gradient is made of, so that the same sums give each row's squared gradient. A delta holds its
    // row's weight / n once, and the sum of weighted squares needs it once, too. No layer below reads these values again.
    void square_rows(int l, int n) {
        const bool output = l == layout.n_layers - 1;
        float* delta = output ? batch.output_delta : batch.delta[l + 1];
        const int deltas = output ? layout.layers[l].n_out : layout.layers[l].columns, width = layout.width(l);
        for (int r = 0; r < n; ++r) {
            const float scale = weight.data[r] > 0 ? float(n) / weight.data[r] : 0.0f;
            for (int i = 0; i < deltas; ++i) delta[r * deltas + i] *= delta[r * deltas + i] * scale;
            float* below = batch.activation[l] + int64_t(r) * width;
            for (int i = 0; i < width; ++i) below[i] *= below[i];
        }
    }

    double step(int n, int64_t step_index, int64_t n_steps) {
        mean.adam.begin_step(options, step_index, n_steps);
        log_std.adam.begin_step(options, step_index, n_steps);
        log_noise.adam.begin_step(options, step_index, n_steps);
        draw_weights(step_index);
        forward(batch, weights.data, derived.data, n, NoHook{});
        const double loss = common_noise_nll(batch.output, targets(), n, 1.0f / float(n), log_noise.value.data,
                                             batch.output_delta, d_log_noise.data);
        const double warmth = double(step_index) / (kWarmUp * double(n_steps));
        update_weights(n, task.graves || warmth >= 1.0 ? 1.0 : warmth);
        update_noise();
        return loss;
    }

    // After the step the log-variances are put back to their limits, so that they can leave them again.
    void update_noise() {
        for (int64_t at = 0; at < log_noise.n; at += kLanes)
            log_noise.adam.update(at, load(d_log_noise.data + at), false);
        for (int o = 0; o < data.n_outputs; ++o) log_noise.value.data[o] = clamp_log_variance(log_noise.value.data[o]);
    }

    // Sets the prior to its best variance, and Graves's to its best mean, and returns the complexity cost,
    // KL(posterior || prior).
    double fit_prior() {
        refresh_sigma();
        double sum = 0, squares = 0, logs = 0;
        for (int64_t i = 0; i < layout.size; ++i) {
            const double m = mean.value.data[i], s = sigma.data[i];
            sum += m;
            squares += m * m + s * s;
            logs += double(log_std.value.data[i]);
        }
        const double n = double(layout.canonical_size), largest = std::exp(double(kLogVarianceLimit));
        if (task.graves) prior_mean = sum / n;
        squares -= n * prior_mean * prior_mean;
        const double best = squares / n;
        prior_variance = best > largest ? largest : (best < 1.0 / largest ? 1.0 / largest : best);
        return 0.5 * (squares / prior_variance - n + n * std::log(prior_variance)) - logs;
    }

    Outcome run() {
        const int64_t n_steps = options.n_epochs * steps_per_epoch();
        for (int e = 0; e < options.n_epochs; ++e) {
            const double nll = epoch(e, 0, [&](int n, int64_t step_index) { return step(n, step_index, n_steps); });
            if (control.cancelled.load(std::memory_order_relaxed)) return Outcome::cancelled;
            const double loss = nll + fit_prior() / double(train_rows.n);
            if (!is_finite(loss)) return Outcome::not_finite;
            task.loss_curve[e] = float(loss);
            count_epochs(1);
        }
        return mean.finite() && log_std.finite() && log_noise.finite() ? Outcome::trained : Outcome::not_finite;
    }

    void hand_over() const {
        unpack(layout, mean.value.data, task.mean);
        unpack(layout, sigma.data, task.std);
        for (int o = 0; o < data.n_outputs; ++o) task.noise_variance[o] = std::exp(log_noise.value.data[o]);
        *task.prior_variance = float(prior_variance);
    }
};

static void train_variational(const Data& data, const Options& options, VariationalTask& task, Control& control) {
    const FlushDenormals flush;
    VariationalTrainer trainer(data, options, task, control);
    task.outcome = trainer.run();
    if (task.outcome == Outcome::trained) trainer.hand_over();
}

}  // namespace extranets::EXTRANETS_VARIANT
