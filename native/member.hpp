// Training of one member from first weights to best weights. A member reads shared data and writes only its own memory, so
// its result depends on nothing but the data, the options and its streams.
#pragma once

#include "adam.hpp"
#include "adversarial.hpp"
#include "learner.hpp"

namespace extranets::EXTRANETS_VARIANT {

// Inverted dropout on inputs and hidden layers. It takes one random word per unit and row, and none where keep is 1. A column
// of the table is dropped together with its encoding.
struct Dropout {
    const Layout& layout;
    const Input& input;
    Words& words;
    float input_keep, hidden_keep;

    void operator()(int l, float* activations, int n_rows, int stride) const {
        const float keep = l == 0 ? input_keep : hidden_keep;
        if (keep == 1.0f) return;
        const int width = l == 0 ? layout.n_inputs : layout.layers[l].n_in;
        const int n_encoded = l == 0 && layout.encoding ? layout.encoding->n_columns : 0;
        const float scale = 1.0f / keep;
        for (int r = 0; r < n_rows; ++r) {
            int c = 0;  // the next encoded column
            for (int j = 0; j < width; ++j) {
                const float factor = words.uniform() < keep ? scale : 0.0f;
                activations[int64_t(r) * stride + j] *= factor;
                if (c < n_encoded && layout.encoding->columns[c] == j) input.scale(layout, r, c++, factor);
            }
        }
    }
};

// Everything one member holds while it trains.
struct Trainer : Learner {
    MemberTask& task;
    Buffer<float> parameters, first, second, derived, gradient, best_epoch, best_start;
    bool unit_variance = false;  // while the Gaussian loss warms up

    Trainer(const Data& d, const Options& o, MemberTask& t, Control& c)
        : Learner(d, o, t, c), task(t), parameters(layout.size), first(layout.size),
          second(layout.size), derived(layout.derived_size), gradient(o.max_grad_norm > 0 ? layout.size : 0),
          best_epoch(o.validation_fraction > 0 ? layout.size : 0), best_start(layout.size) {}

    template <class Sink>
    void backward(int n, float scale, const Sink& sink) {
        for (int l = layout.n_layers - 1; l >= 0; --l) {
            if (l > 0) backward_to(batch, parameters.data, derived.data, l, n, scale);
            layer_gradient(batch, l, n, sink);
            refresh_derived(layout, parameters.data, l, derived.data);
        }
    }

    // The gradient first goes to memory, because its norm is needed before the first weight may change.
    void clipped_step(int n, float scale, const Adam& adam) {
        double squares = 0;
        backward(n, scale, [&](int64_t at, Vec g, bool) {
            store(gradient.data + at, g);
            squares += double(sum(mul(g, g)));
        });
        const double norm = std::sqrt(squares);
        const Vec factor = splat(norm > options.max_grad_norm ? float(options.max_grad_norm / norm) : 1.0f);
        for (int l = 0; l < layout.n_layers; ++l) {
            const Layer& layer = layout.layers[l];
            const int64_t end = layer.bias + padded(layer.n_out);
            for (int64_t at = layer.weights; at < end; at += kLanes)
                adam.update(at, mul(load(gradient.data + at), factor), at < layer.bias);
            refresh_derived(layout, parameters.data, l, derived.data);
        }
    }

    double loss_and_delta(int n) {
        return batch_loss(options.loss, batch.output, targets(), n, 1.0f / float(n), batch.output_delta, unit_variance);
    }

    // Doubles the gathered batch. The direction is that of the plain network: no dropout.
    void add_adversarial_rows(int n) {
        forward(batch, parameters.data, derived.data, n, NoHook{});
        loss_and_delta(n);
        append_adversarial(batch, parameters.data, derived.data, data.adversarial, n);
        copy(y.data, int64_t(n) * data.n_outputs, y.data + int64_t(n) * data.n_outputs);
        copy(weight.data, n, weight.data + n);
    }

    // One mini-batch, already gathered. Returns the summed loss of n rows, as many as were gathered.
    double step(int n, int64_t step_index, uint32_t attempt, const Adam& adam) {
        if (data.adversarial) {
            add_adversarial_rows(n);
            n *= 2;
        }
        if (options.dropout_keep < 1.0f || options.input_keep < 1.0f) {
            Words words(make_stream(options.seed, task.id, Purpose::dropout, attempt, uint32_t(step_index)));
            const Dropout dropout{layout, batch.input, words, options.input_keep, options.dropout_keep};
            forward(batch, parameters.data, derived.data, n, dropout);
        } else {
            forward(batch, parameters.data, derived.data, n, NoHook{});
        }
        const double loss = loss_and_delta(n);
        const float scale = 1.0f / options.dropout_keep;
        if (options.max_grad_norm > 0) {
            clipped_step(n, scale, adam);
        } else {
            backward(n, scale, [adam](int64_t at, Vec g, bool is_weight) { adam.update(at, g, is_weight); });
        }
        return data.adversarial ? loss / 2 : loss;
    }

    // Mean loss over rows, no dropout.
    double evaluate(const Rows& rows) {
        double loss = 0;
        for (int64_t begin = 0; begin < rows.n; begin += capacity) {
            const int n = int(rows.n - begin < capacity ? rows.n - begin : capacity);
            gather(rows.data + begin, n);
            forward(batch, parameters.data, derived.data, n, NoHook{});
            loss += batch_loss(options.loss, batch.output, targets(), n, 1.0f, nullptr);
        }
        return loss / double(rows.n);
    }

    // R^2 on the training rows: the loss against that of the best constant. Under the Gaussian likelihood this is the
    // generalised R^2 of Cox and Snell, so that a network that explains only the variance does not count as collapsed.
    double training_r2(double loss) const {
        double total_weight = 0, mean_variance = 0, constant_nll = 0;
        for (int o = 0; o < data.n_outputs; ++o) {
            double sum_w = 0, sum_y = 0, sum_y2 = 0;
            for (int64_t i = 0; i < train_rows.n; ++i) {
                const double w = data.weight ? data.weight[train_rows.data[i]] : 1.0f;
                const double value = data.y[int64_t(train_rows.data[i]) * data.n_outputs + o];
                sum_w += w;
                sum_y += w * value;
                sum_y2 += w * value * value;
            }
            const double variance = sum_w > 0 ? sum_y2 / sum_w - sum_y / sum_w * (sum_y / sum_w) : 0;
            mean_variance += variance / data.n_outputs;
            // A constant output adds nothing: standardised it is zero, and predicting zero with variance one has the loss zero.
            if (variance > 1e-9) constant_nll += 0.5 * (std::log(variance) + 1) / data.n_outputs;
            total_weight = sum_w;
        }
        if (mean_variance < 1e-9) return 1.0;  // a constant target cannot collapse
        const double mean_loss = loss * double(train_rows.n) / total_weight;
        return options.loss == Loss::gaussian_nll ? 1.0 - std::exp(2 * (mean_loss - constant_nll))
                                                  : 1.0 - mean_loss / mean_variance;
    }

    void refresh() {
        for (int l = 0; l < layout.n_layers; ++l) refresh_derived(layout, parameters.data, l, derived.data);
    }

    void start(uint32_t attempt) {
        initialise(layout, make_stream(options.seed, task.id, Purpose::init, attempt, 0), parameters.data);
        clear(first.data, layout.size);
        clear(second.data, layout.size);
        clear(derived.data, layout.derived_size);
        refresh();
        for (int e = 0; e < options.n_epochs; ++e) task.loss_curve[e] = float(std::nan(""));
        task.n_epochs_run = 0;
        task.validation_loss = kInfinity;
    }

    // True when training should stop; keeps the best weights.
    bool validate(int& waited) {
        const double loss = evaluate(validation_rows);
        waited = loss < task.validation_loss - double(options.tolerance) ? 0 : waited + 1;
        if (loss < task.validation_loss) {
            task.validation_loss = loss;
            copy(parameters.data, layout.size, best_epoch.data);
        }
        return waited >= options.patience;
    }

    // An overflowed second moment freezes its weight for ever without showing in the loss.
    bool moments_are_finite() const {
        for (int64_t i = 0; i < layout.size; ++i)
            if (!is_finite(second.data[i])) return false;
        return true;
    }

    Outcome attempt(uint32_t index) {
        start(index);
        epochs_counted = 0;
        Adam adam(parameters.data, first.data, second.data, options);
        const int64_t n_steps = options.n_epochs * steps_per_epoch();
        int waited = 0;
        for (int e = 0; e < options.n_epochs; ++e) {
            unit_variance = e < options.warm_up_epochs;
            const double loss = epoch(e, index, [&](int n, int64_t step_index) {
                adam.begin_step(options, step_index, n_steps);
                return step(n, step_index, index, adam);
            });
            if (control.cancelled.load(std::memory_order_relaxed)) return Outcome::cancelled;
            if (!is_finite(loss)) return Outcome::not_finite;
            task.loss_curve[e] = float(loss);
            task.n_epochs_run = e + 1;
            count_epochs(1);
            // Weights of the warm-up cannot be the best ones: their variance is not trained yet.
            if (validation_rows.n > 0 && !unit_variance && validate(waited)) break;
        }
        count_epochs(options.n_epochs - task.n_epochs_run);
        if (validation_rows.n > 0 && is_finite(task.validation_loss)) {
            copy(best_epoch.data, layout.size, parameters.data);
            refresh();
        }
        return judge();
    }

    // By all rows of the table.
    Outcome judge() {
        task.train_loss = evaluate(train_rows);
        if (!is_finite(task.train_loss) || !moments_are_finite()) return Outcome::not_finite;
        task.train_r2 = training_r2(task.train_loss);
        return task.train_r2 < options.collapse_r2 ? Outcome::collapsed : Outcome::trained;
    }

    // One epoch, on from where the last stretch has ended. Only the last one is judged: that costs a third of an epoch.
    Outcome run_stretch(const Stretch& s) {
        start(s.attempt);
        if (s.step > 0) {
            pack(layout, task.parameters, parameters.data);
            pack(layout, s.first, first.data);
            pack(layout, s.second, second.data);
            refresh();
        }
        Adam adam(parameters.data, first.data, second.data, options);
        adam.skip_steps(options, s.step);
        unit_variance = options.warm_up_epochs > 0;
        int64_t at = s.step;
        const double loss = epoch(s.number, s.attempt, [&](int n, int64_t) {
            adam.begin_step(options, at, s.n_steps);
            return step(n, at++, s.attempt, adam);
        });
        if (control.cancelled.load(std::memory_order_relaxed)) return Outcome::cancelled;
        count_epochs(1);
        task.loss_curve[0] = float(loss);
        task.n_epochs_run = 1;
        if (!is_finite(loss)) return Outcome::not_finite;
        unpack(layout, parameters.data, task.parameters);
        unpack(layout, first.data, s.first);
        unpack(layout, second.data, s.second);
        if (at >= s.n_steps) return judge();
        return moments_are_finite() ? Outcome::trained : Outcome::not_finite;
    }
};

// Scalars of the best start so far, put back when a later start is worse.
struct Record {
    double train_loss, train_r2, validation_loss;
    int n_epochs_run;
    Outcome outcome;
};

// Best of n_starts by training loss. Starts that collapse or overflow do not count; up to max_restarts of them are replaced.
static void train_member(const Data& data, const Options& options, MemberTask& task, Control& control) {
    const FlushDenormals flush;
    Trainer trainer(data, options, task, control);
    if (task.stretch) {
        task.train_loss = task.train_r2 = std::nan("");
        task.n_attempts = int(task.stretch->attempt) + 1;
        task.outcome = trainer.run_stretch(*task.stretch);
        return;
    }
    Buffer<float> best_curve(options.n_epochs);
    Record best{kInfinity, 0, 0, 0, Outcome::not_finite};
    int good = 0;
    task.n_attempts = 0;
    while (good < options.n_starts && task.n_attempts < options.n_starts + options.max_restarts) {
        const Outcome outcome = trainer.attempt(uint32_t(task.n_attempts++));
        if (outcome == Outcome::cancelled) {
            task.outcome = outcome;
            return;
        }
        if (outcome == Outcome::trained) {
            ++good;
        } else {  // a start that will be replaced is no progress
            trainer.count_epochs(-trainer.epochs_counted);
        }
        // Outcome is ordered from good to bad; a trained network beats a collapsed one whatever its loss.
        const bool better = outcome < best.outcome || (outcome == best.outcome && task.train_loss < best.train_loss);
        if (outcome == Outcome::not_finite || !better) continue;
        best = {task.train_loss, task.train_r2, task.validation_loss, task.n_epochs_run, outcome};
        copy(trainer.parameters.data, trainer.layout.size, trainer.best_start.data);
        copy(task.loss_curve, options.n_epochs, best_curve.data);
    }
    task.train_loss = best.train_loss;
    task.train_r2 = best.train_r2;
    task.validation_loss = best.validation_loss;
    task.n_epochs_run = best.n_epochs_run;
    task.outcome = best.outcome;
    if (best.outcome == Outcome::not_finite) return;
    unpack(trainer.layout, trainer.best_start.data, task.parameters);
    copy(best_curve.data, options.n_epochs, task.loss_curve);
}

// The gradient that a step would see, for tests and for callers that optimise by themselves.
static double batch_gradient(const Data& data, const Options& options, const Shape& shape, const float* parameters,
                             float* gradient) {
    MemberTask task{};
    task.shape = shape;
    Control control;
    Options all_rows = options;
    all_rows.batch_size = int(data.n_rows);
    all_rows.validation_fraction = 0;
    Trainer trainer(data, all_rows, task, control);
    const int n = int(data.n_rows);
    pack(trainer.layout, parameters, trainer.parameters.data);
    clear(trainer.derived.data, trainer.layout.derived_size);
    trainer.refresh();
    trainer.gather(trainer.train_rows.data, n);
    forward(trainer.batch, trainer.parameters.data, trainer.derived.data, n, NoHook{});
    const double loss = batch_loss(options.loss, trainer.batch.output, trainer.targets(), n,
                                   1.0f / float(n), trainer.batch.output_delta);
    Buffer<float> block(trainer.layout.size);
    trainer.backward(n, 1.0f, [&](int64_t at, Vec g, bool) { store(block.data + at, g); });
    unpack(trainer.layout, block.data, gradient);
    return loss / n;
}

}  // namespace extranets::EXTRANETS_VARIANT
