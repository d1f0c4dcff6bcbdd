// The Python face of the engine: checks whatever could put memory at risk, releases the GIL, calls the kernels.
// src/extranets/engine/ is its only caller.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include "dispatch.hpp"
#include "memory.hpp"
#include "parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

template <class T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N>
using Out = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

namespace {

void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

// While workers train, the calling thread looks for Ctrl-C and reports progress. Whatever Python raises stops the workers and
// is raised again when they have stopped.
struct Watch {
    Control& control;
    nb::object progress;
    double total;
    std::exception_ptr error;

    void operator()() {
        const nb::gil_scoped_acquire gil;
        try {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            if (!progress.is_none()) progress(std::min(1.0, double(control.epochs_done.load()) / total));
        } catch (...) {
            if (!error) error = std::current_exception();
            control.cancelled = true;
        }
    }
};

// A numeric encoding whose arrays fit together.
struct EncodingArrays {
    In<int32_t, 1> columns, first;
    In<float, 1> numbers;
    Encoding view{};

    EncodingArrays(int kind, In<int32_t, 1> the_columns, In<int32_t, 1> the_first, In<float, 1> the_numbers)
        : columns(the_columns), first(the_first), numbers(the_numbers) {
        require(kind == int(EncodingKind::piecewise_linear) || kind == int(EncodingKind::periodic), "unknown encoding");
        const size_t n = columns.shape(0);
        require(n >= 1 && first.shape(0) == n + 1 && first.data()[0] == 0, "an encoding needs columns and their entries");
        view = {EncodingKind(kind), int(n), first.data()[n], columns.data(), first.data(), numbers.data()};
        const bool periodic = view.kind == EncodingKind::periodic;
        for (size_t c = 0; c < n; ++c) {
            const int entries = first.data()[c + 1] - first.data()[c];
            require(entries >= 1 && entries <= (periodic ? 2 * int(numbers.shape(0)) : kMostBins), "too few or too many entries");
            require(c == 0 || columns.data()[c] > columns.data()[c - 1], "encoded columns must increase");
        }
        require(periodic || numbers.shape(0) == size_t(view.n_entries) + n, "a column needs one edge more than bins");
    }

    // For a table with n_inputs columns; null for none.
    static const Encoding* of(const EncodingArrays* arrays, int n_inputs) {
        if (!arrays) return nullptr;
        const Encoding& e = arrays->view;
        require(e.columns[0] >= 0 && e.columns[e.n_columns - 1] < n_inputs, "an encoded column is not in X");
        return &e;
    }
};

// Where the rows of a table lie in the bins of its columns: found once, read by all members.
struct PlacedRows {
    std::vector<uint8_t> bins;
    std::vector<float> positions;

    PlacedRows(const Encoding* encoding, size_t n_hidden, int n_threads, Data& data) {
        if (!encoding || encoding->kind != EncodingKind::piecewise_linear || n_hidden == 0) return;
        constexpr int64_t kRange = 8192;
        bins.resize(size_t(data.n_rows) * size_t(encoding->n_columns));
        positions.resize(bins.size());
        data.bins = bins.data();
        data.positions = positions.data();
        const nb::gil_scoped_release release;
        run_parallel((data.n_rows + kRange - 1) / kRange, n_threads, [&](int64_t i) {
            active_kernels().place_rows(*encoding, data.X, data.n_inputs, i * kRange, std::min(data.n_rows, (i + 1) * kRange),
                                        bins.data(), positions.data());
        });
    }
};

Shape checked_shape(const int32_t* widths, size_t n_hidden, int n_inputs, int n_heads, const Encoding* encoding = nullptr) {
    require(n_hidden <= size_t(kMostHidden), "too many hidden layers");
    require(n_inputs >= 1 && n_heads >= 1, "a network needs an input and an output");
    for (size_t l = 0; l < n_hidden; ++l) require(widths[l] >= 1, "every hidden layer needs a unit");
    return {n_inputs, int(n_hidden), widths, n_heads, encoding};
}

Shape shape_of(const In<int32_t, 2>& widths, size_t member, int n_inputs, int n_heads, const Encoding* encoding) {
    return checked_shape(widths.data() + member * widths.shape(1), widths.shape(1), n_inputs, n_heads, encoding);
}

void check_options(const Options& options) {
    require(options.batch_size >= 1 && options.n_epochs >= 1 && options.n_starts >= 1, "batch, epochs and starts must be positive");
}

Data data_of(const In<float, 2>& X, const In<float, 2>& y, const std::optional<In<float, 1>>& weight,
             const std::optional<In<float, 1>>& adversarial = std::nullopt) {
    require(X.shape(0) == y.shape(0), "X and y must have the same number of rows");
    require(X.shape(0) >= 1 && X.shape(0) < (size_t(1) << 32), "between one row and 2^32 rows are needed");
    require(!weight || weight->shape(0) == X.shape(0), "weight must have one entry per row");
    require(!adversarial || adversarial->shape(0) == X.shape(1), "adversarial must have one step per column of X");
    return {X.data(),
            y.data(),
            weight ? weight->data() : nullptr,
            adversarial ? adversarial->data() : nullptr,
            int64_t(X.shape(0)),
            int(X.shape(1)),
            int(y.shape(1))};
}

// A member's row of `counts`, null where every row stands once.
const uint16_t* counts_of(const std::optional<In<uint16_t, 2>>& counts, const std::optional<In<int32_t, 1>>& count_rows,
                          size_t member, const Data& data, size_t n_members) {
    if (!counts) return nullptr;
    require(count_rows && count_rows->shape(0) == n_members && int64_t(counts->shape(1)) == data.n_rows,
            "counts has the wrong shape");
    const int row = count_rows->data()[member];
    if (row < 0) return nullptr;
    require(size_t(row) < counts->shape(0), "count_rows points outside counts");
    const uint16_t* begin = counts->data() + int64_t(row) * data.n_rows;
    require(std::any_of(begin, begin + data.n_rows, [](uint16_t count) { return count > 0; }), "a sample without rows");
    return begin;
}

// What training by Adam and variational inference have in common: which networks, on which rows, and where their numbers go.
struct Plan {
    In<uint32_t, 1> members;
    In<int32_t, 2> widths;
    In<int64_t, 1> offsets;
    std::optional<In<uint16_t, 2>> counts;
    std::optional<In<int32_t, 1>> count_rows;
    const Encoding* encoding = nullptr;

    size_t size() const { return members.shape(0); }

    Member member(size_t i, const Data& data, int n_heads) const {
        const Shape shape = shape_of(widths, i, data.n_inputs, n_heads, encoding);
        const int64_t n_parameters = active_kernels().parameter_count(shape);
        require(n_parameters == offsets.data()[i + 1] - offsets.data()[i], "offsets do not fit widths");
        return {members.data()[i], shape, counts_of(counts, count_rows, i, data, size())};
    }

    void check(const Options& options, const Out<float, 2>& loss_curve) const {
        check_options(options);
        require(widths.shape(0) == size() && offsets.shape(0) == size() + 1 && loss_curve.shape(0) == size() &&
                    loss_curve.shape(1) == size_t(options.n_epochs),
                "one row per member is needed in every array");
    }
};

// Calls work(member, control) for every member on worker threads, while this one looks for Ctrl-C and reports progress.
void run_members(size_t n, double n_epochs, int n_threads, const nb::object& progress,
                 const std::function<void(size_t, Control&)>& work) {
    Control control;
    Watch watch{control, progress, std::max(1.0, double(n) * n_epochs), nullptr};
    {
        const nb::gil_scoped_release release;
        run_parallel(
            int64_t(n), n_threads,
            [&](int64_t i) {
                if (!control.cancelled) work(size_t(i), control);
            },
            std::ref(watch));
    }
    if (watch.error) std::rethrow_exception(watch.error);
}

// Fills parameters, loss_curve, scalars (loss, R^2, validation loss) and counts (epochs, attempts, outcome).
void train(In<float, 2> X, In<float, 2> y, std::optional<In<float, 1>> weight, std::optional<In<float, 1>> adversarial,
           std::optional<In<uint16_t, 2>> counts, std::optional<In<int32_t, 1>> count_rows, In<uint32_t, 1> members,
           In<int32_t, 2> widths, In<int64_t, 1> offsets, const EncodingArrays* encoding, const Options& options,
           Out<float, 1> parameters, Out<float, 2> loss_curve, Out<double, 2> scalars, Out<int32_t, 2> integers, int n_threads,
           nb::object progress) {
    Data data = data_of(X, y, weight, adversarial);
    const Plan plan{members, widths, offsets, counts, count_rows, EncodingArrays::of(encoding, data.n_inputs)};
    plan.check(options, loss_curve);
    require(!adversarial || options.batch_size < (1 << 30), "a batch of adversarial training must have fewer than 2^30 rows");
    const size_t n = plan.size();
    require(scalars.shape(0) == n && scalars.shape(1) == 3 && integers.shape(0) == n && integers.shape(1) == 3,
            "one row per member is needed in every array");
    require(size_t(offsets.data()[n]) <= parameters.shape(0), "parameters is too small");
    const int n_heads = data.n_outputs * (options.loss == Loss::gaussian_nll ? 2 : 1);
    std::vector<MemberTask> tasks(n);
    for (size_t i = 0; i < n; ++i) {
        static_cast<Member&>(tasks[i]) = plan.member(i, data, n_heads);
        tasks[i].parameters = parameters.data() + offsets.data()[i];
        tasks[i].loss_curve = loss_curve.data() + i * size_t(options.n_epochs);
    }
    const Kernels& kernels = active_kernels();
    const PlacedRows placed(plan.encoding, widths.shape(1), n_threads, data);
    run_members(n, double(options.n_epochs) * options.n_starts, n_threads, progress, [&](size_t i, Control& control) {
        kernels.train_member(data, options, tasks[i], control);
    });
    for (size_t i = 0; i < n; ++i) {
        double* s = scalars.data() + 3 * i;
        int32_t* k = integers.data() + 3 * i;
        s[0] = tasks[i].train_loss, s[1] = tasks[i].train_r2, s[2] = tasks[i].validation_loss;
        k[0] = tasks[i].n_epochs_run, k[1] = tasks[i].n_attempts, k[2] = int32_t(tasks[i].outcome);
    }
}

// Fills every array that is not read: mean and std in the layout of parameters, the rest with a row per member.
void train_variational(In<float, 2> X, In<float, 2> y, std::optional<In<float, 1>> weight,
                       std::optional<In<uint16_t, 2>> counts, std::optional<In<int32_t, 1>> count_rows,
                       In<uint32_t, 1> members, In<int32_t, 2> widths, In<int64_t, 1> offsets, const Options& options,
                       Out<float, 1> mean, Out<float, 1> std, Out<float, 2> noise_variance, Out<float, 1> prior_variance,
                       Out<float, 2> loss_curve, Out<int32_t, 1> outcomes, int n_threads, nb::object progress) {
    const Data data = data_of(X, y, weight);
    const Plan plan{members, widths, offsets, counts, count_rows};
    plan.check(options, loss_curve);
    const size_t n = plan.size(), n_parameters = size_t(offsets.data()[n]);
    require(noise_variance.shape(0) == n && int(noise_variance.shape(1)) == data.n_outputs && prior_variance.shape(0) == n &&
                outcomes.shape(0) == n,
            "one row per member is needed in every array");
    require(n_parameters <= mean.shape(0) && n_parameters <= std.shape(0), "mean or std is too small");
    std::vector<VariationalTask> tasks(n);
    for (size_t i = 0; i < n; ++i) {
        static_cast<Member&>(tasks[i]) = plan.member(i, data, data.n_outputs);
        tasks[i].mean = mean.data() + offsets.data()[i];
        tasks[i].std = std.data() + offsets.data()[i];
        tasks[i].noise_variance = noise_variance.data() + i * size_t(data.n_outputs);
        tasks[i].prior_variance = prior_variance.data() + i;
        tasks[i].loss_curve = loss_curve.data() + i * size_t(options.n_epochs);
    }
    const Kernels& kernels = active_kernels();
    run_members(n, options.n_epochs, n_threads, progress, [&](size_t i, Control& control) {
        kernels.train_variational(data, options, tasks[i], control);
    });
    for (size_t i = 0; i < n; ++i) outcomes.data()[i] = int32_t(tasks[i].outcome);
}

// An ensemble packed for the active variant, ready for forward passes.
struct Packed {
    EnsembleView view{};
    const Kernels* kernels = nullptr;
    In<int32_t, 2> widths;
    In<float, 1> parameters;
    std::vector<uint32_t> pass_ids;
    float* memory = nullptr;

    Packed(int n_inputs, int n_outputs, int n_heads, In<int32_t, 2> the_widths, In<float, 1> the_parameters,
           const EncodingArrays* encoding)
        : kernels(&active_kernels()), widths(the_widths), parameters(the_parameters) {
        require(widths.shape(0) >= 1, "an ensemble needs a member");
        view.n_members = view.n_passes = int(widths.shape(0));
        view.n_inputs = n_inputs;
        view.n_hidden = int(widths.shape(1));
        view.n_heads = n_heads;
        view.n_outputs = n_outputs;
        view.widths = widths.data();
        view.parameters = parameters.data();
        view.encoding = EncodingArrays::of(encoding, n_inputs);
        int64_t needed = 0;
        for (size_t i = 0; i < widths.shape(0); ++i)
            needed += kernels->parameter_count(shape_of(widths, i, n_inputs, n_heads, view.encoding));
        require(size_t(needed) == parameters.shape(0), "parameters do not fit widths");
        memory = static_cast<float*>(allocate_aligned(size_t(kernels->packed_floats(view)) * sizeof(float)));
        kernels->pack_ensemble(view, memory);
        view.packed = memory;
    }
    Packed(const Packed&) = delete;
    Packed& operator=(const Packed&) = delete;
    ~Packed() { free_aligned(memory); }

    void set_passes(std::vector<uint32_t> ids, float dropout_keep, float input_keep, uint64_t seed) {
        require(!ids.empty(), "at least one pass is needed");
        pass_ids = std::move(ids);
        view.pass_ids = pass_ids.data();
        view.n_passes = int(pass_ids.size());
        view.dropout_keep = dropout_keep;
        view.input_keep = input_keep;
        view.seed = seed;
    }

    void check_rows(const In<float, 2>& X) const { require(int(X.shape(1)) == view.n_inputs, "X has the wrong number of columns"); }

    // Results do not depend on the ranges. They are long, because a stochastic pass is drawn once per range, but few rows
    // still go to all threads.
    void for_row_ranges(int64_t n_rows, int n_threads, const std::function<void(int64_t, int64_t)>& work) const {
        constexpr int64_t kLongest = 512, kShortest = 64;
        const int64_t share = (n_rows + std::max(1, n_threads) - 1) / std::max(1, n_threads);
        const int64_t range = std::clamp((share + kShortest - 1) / kShortest * kShortest, kShortest, kLongest);
        const nb::gil_scoped_release release;
        run_parallel((n_rows + range - 1) / range, n_threads,
                     [&](int64_t i) { work(i * range, std::min(n_rows, (i + 1) * range)); });
    }

    void forward(In<float, 2> X, Out<float, 3> out, int n_threads) const {
        check_rows(X);
        const int64_t n = int64_t(X.shape(0));
        require(int(out.shape(0)) == view.n_passes && int64_t(out.shape(1)) == n && int(out.shape(2)) == view.n_heads,
                "out has the wrong shape");
        for_row_ranges(n, n_threads, [&](int64_t begin, int64_t end) {
            kernels->forward_rows(view, X.data(), begin, end, out.data(), n * view.n_heads);
        });
    }

    void moments(In<float, 2> X, Out<double, 2> mean, Out<double, 2> variance, std::optional<Out<double, 2>> mean_variance,
                 int n_threads) const {
        check_rows(X);
        const size_t n = X.shape(0), o = size_t(view.n_outputs);
        require(mean.shape(0) == n && mean.shape(1) == o && variance.shape(0) == n && variance.shape(1) == o &&
                    (!mean_variance || (mean_variance->shape(0) == n && mean_variance->shape(1) == o &&
                                        view.n_heads == 2 * view.n_outputs)),
                "out has the wrong shape");
        for_row_ranges(int64_t(n), n_threads, [&](int64_t begin, int64_t end) {
            kernels->moment_rows(view, X.data(), begin, end, mean.data(), variance.data(),
                                 mean_variance ? mean_variance->data() : nullptr);
        });
    }

    void jacobian(In<float, 2> X, int head, Out<float, 2> out, int n_threads) const {
        check_rows(X);
        require(view.n_members == 1 && head >= 0 && head < view.n_heads, "one member and one of its heads");
        require(out.shape(0) == X.shape(0) && int64_t(out.shape(1)) == int64_t(parameters.shape(0)), "out has the wrong shape");
        for_row_ranges(int64_t(X.shape(0)), n_threads, [&](int64_t begin, int64_t end) {
            kernels->jacobian_rows(view, X.data(), begin, end, head, out.data());
        });
    }
};

// The network that every member of a posterior with n_weights weights has.
Shape posterior_shape(const In<int32_t, 1>& hidden, const In<float, 2>& X, size_t n_members, size_t n_weights) {
    require(n_members >= 1, "a posterior needs a member");
    const Shape shape = checked_shape(hidden.data(), hidden.shape(0), int(X.shape(1)), 1);
    require(size_t(active_kernels().parameter_count(shape)) == n_weights, "X has the wrong number of columns for this posterior");
    return shape;
}

bool has_rows(const Data& data, const uint16_t* counts) {
    for (int64_t i = 0; i < data.n_rows; ++i)
        if ((!counts || counts[i] > 0) && (!data.weight || data.weight[i] > 0)) return true;
    return false;
}

// Updates mean, variance, noise and prior of every member.
void pbp_train(In<float, 2> X, In<float, 2> y, std::optional<In<float, 1>> weight, std::optional<In<uint16_t, 2>> counts,
               std::optional<In<int32_t, 1>> count_rows, In<uint32_t, 1> members, In<int32_t, 1> targets, In<int32_t, 1> hidden,
               int n_passes, uint64_t seed, Out<double, 2> mean, Out<double, 2> variance, Out<double, 2> noise,
               Out<double, 2> prior, int n_threads, nb::object progress) {
    const Data data = data_of(X, y, weight);
    const size_t n = members.shape(0), n_weights = mean.shape(1);
    const Shape shape = posterior_shape(hidden, X, n, n_weights);
    require(n_passes >= 1, "n_passes must be positive");
    require(targets.shape(0) == n && mean.shape(0) == n && variance.shape(0) == n && variance.shape(1) == n_weights &&
                noise.shape(0) == n && noise.shape(1) == 2 && prior.shape(0) == n && prior.shape(1) == 2,
            "one row per member is needed in every array");
    std::vector<PbpTask> tasks(n);
    for (size_t i = 0; i < n; ++i) {
        const int target = targets.data()[i];
        require(target >= 0 && target < data.n_outputs, "targets points outside y");
        tasks[i] = {{members.data()[i], shape, counts_of(counts, count_rows, i, data, n)}, seed, n_passes, target,
                    mean.data() + i * n_weights, variance.data() + i * n_weights, noise.data() + 2 * i, prior.data() + 2 * i};
        require(has_rows(data, tasks[i].counts), "a sample without rows");
    }
    const Kernels& kernels = active_kernels();
    run_members(n, n_passes, n_threads, progress,
                [&](size_t i, Control& control) { kernels.pbp_train(data, tasks[i], control); });
}

void pbp_moments(In<int32_t, 1> hidden, In<double, 2> weight_mean, In<double, 2> weight_variance, In<float, 2> X,
                 Out<double, 2> mean, Out<double, 2> variance, int n_threads) {
    const size_t n_members = weight_mean.shape(0), n_weights = weight_mean.shape(1), n = X.shape(0);
    const Shape shape = posterior_shape(hidden, X, n_members, n_weights);
    require(weight_variance.shape(0) == n_members && weight_variance.shape(1) == n_weights && mean.shape(0) == n_members &&
                variance.shape(0) == n_members && mean.shape(1) == n && variance.shape(1) == n,
            "out has the wrong shape");
    const Kernels& kernels = active_kernels();
    constexpr int64_t kRange = 512;
    const int64_t n_ranges = (int64_t(n) + kRange - 1) / kRange;
    const nb::gil_scoped_release release;
    run_parallel(int64_t(n_members) * n_ranges, n_threads, [&](int64_t i) {
        const int64_t member = i / n_ranges, begin = i % n_ranges * kRange, end = std::min(int64_t(n), begin + kRange);
        kernels.pbp_moments(shape, weight_mean.data() + member * int64_t(n_weights),
                            weight_variance.data() + member * int64_t(n_weights), X.data(), begin, end,
                            mean.data() + member * int64_t(n), variance.data() + member * int64_t(n));
    });
}

double gradient(In<float, 2> X, In<float, 2> y, std::optional<In<float, 1>> weight, In<int32_t, 1> widths,
                In<float, 1> parameters, const EncodingArrays* encoding, const Options& options, Out<float, 1> out) {
    Data data = data_of(X, y, weight);
    const Encoding* checked = EncodingArrays::of(encoding, data.n_inputs);
    const PlacedRows placed(checked, widths.shape(0), 1, data);
    const int n_heads = data.n_outputs * (options.loss == Loss::gaussian_nll ? 2 : 1);
    const Shape shape = checked_shape(widths.data(), widths.shape(0), data.n_inputs, n_heads, checked);
    const size_t n = size_t(active_kernels().parameter_count(shape));
    require(parameters.shape(0) == n && out.shape(0) == n, "parameters do not fit widths");
    return active_kernels().batch_gradient(data, options, shape, parameters.data(), out.data());
}

void random_words(uint64_t seed, uint32_t member, uint32_t purpose, uint32_t attempt, uint32_t part, Out<uint32_t, 1> out) {
    active_kernels().random_words(seed, member, purpose, attempt, part, int64_t(out.shape(0)), out.data());
}

void random_normals(uint64_t seed, uint32_t member, uint32_t purpose, uint32_t attempt, uint32_t part, Out<float, 1> out) {
    active_kernels().random_normals(seed, member, purpose, attempt, part, int64_t(out.shape(0)), out.data());
}

}  // namespace

NB_MODULE(_native, m) {
    nb::class_<Options>(m, "Options")
        .def(nb::init<>())
        .def_prop_rw("loss", [](const Options& o) { return int(o.loss); }, [](Options& o, int v) { o.loss = Loss(v); })
        .def_prop_rw("schedule", [](const Options& o) { return int(o.schedule); }, [](Options& o, int v) { o.schedule = Schedule(v); })
        .def_rw("n_epochs", &Options::n_epochs)
        .def_rw("batch_size", &Options::batch_size)
        .def_rw("learning_rate", &Options::learning_rate)
        .def_rw("beta1", &Options::beta1)
        .def_rw("beta2", &Options::beta2)
        .def_rw("epsilon", &Options::epsilon)
        .def_rw("weight_decay", &Options::weight_decay)
        .def_rw("warm_up_epochs", &Options::warm_up_epochs)
        .def_rw("dropout_keep", &Options::dropout_keep)
        .def_rw("input_keep", &Options::input_keep)
        .def_rw("max_grad_norm", &Options::max_grad_norm)
        .def_rw("validation_fraction", &Options::validation_fraction)
        .def_rw("patience", &Options::patience)
        .def_rw("tolerance", &Options::tolerance)
        .def_rw("n_starts", &Options::n_starts)
        .def_rw("max_restarts", &Options::max_restarts)
        .def_rw("collapse_r2", &Options::collapse_r2)
        .def_rw("seed", &Options::seed);
    nb::class_<EncodingArrays>(m, "Encoding")
        .def(nb::init<int, In<int32_t, 1>, In<int32_t, 1>, In<float, 1>>(), "kind"_a, "columns"_a, "first"_a, "numbers"_a);
    nb::class_<Packed>(m, "Packed")
        .def(nb::init<int, int, int, In<int32_t, 2>, In<float, 1>, const EncodingArrays*>(), "n_inputs"_a, "n_outputs"_a,
             "n_heads"_a, "widths"_a, "parameters"_a, "encoding"_a.none(), nb::keep_alive<1, 7>())
        .def("set_passes", &Packed::set_passes, "pass_ids"_a, "dropout_keep"_a, "input_keep"_a, "seed"_a)
        .def("forward", &Packed::forward, "X"_a, "out"_a, "n_threads"_a)
        .def("moments", &Packed::moments, "X"_a, "mean"_a, "variance"_a, "mean_variance"_a.none(), "n_threads"_a)
        .def("jacobian", &Packed::jacobian, "X"_a, "head"_a, "out"_a, "n_threads"_a);
    m.def("train", &train, "X"_a, "y"_a, "weight"_a.none(), "adversarial"_a.none(), "counts"_a.none(), "count_rows"_a.none(),
          "members"_a, "widths"_a, "offsets"_a, "encoding"_a.none(), "options"_a, "parameters"_a, "loss_curve"_a, "scalars"_a,
          "integers"_a, "n_threads"_a, "progress"_a.none());
    m.def("train_variational", &train_variational, "X"_a, "y"_a, "weight"_a.none(), "counts"_a.none(), "count_rows"_a.none(),
          "members"_a, "widths"_a, "offsets"_a, "options"_a, "mean"_a, "std"_a, "noise_variance"_a, "prior_variance"_a,
          "loss_curve"_a, "outcomes"_a, "n_threads"_a, "progress"_a.none());
    m.def("pbp_train", &pbp_train, "X"_a, "y"_a, "weight"_a.none(), "counts"_a.none(), "count_rows"_a.none(), "members"_a,
          "targets"_a, "hidden"_a, "n_passes"_a, "seed"_a, "mean"_a, "variance"_a, "noise"_a, "prior"_a, "n_threads"_a,
          "progress"_a.none());
    m.def("pbp_moments", &pbp_moments, "hidden"_a, "weight_mean"_a, "weight_variance"_a, "X"_a, "mean"_a, "variance"_a,
          "n_threads"_a);
    m.def("gradient", &gradient, "X"_a, "y"_a, "weight"_a.none(), "widths"_a, "parameters"_a, "encoding"_a.none(),
          "options"_a, "out"_a);
    m.def("random_words", &random_words, "seed"_a, "member"_a, "purpose"_a, "attempt"_a, "part"_a, "out"_a);
    m.def("random_normals", &random_normals, "seed"_a, "member"_a, "purpose"_a, "attempt"_a, "part"_a, "out"_a);
    m.def("built_variants", &built_variants);
    m.def("usable_variants", &usable_variants);
    m.def("use_variant", &use_variant, "name"_a);
    m.def("active_variant", [] { return std::string(active_kernels().name); });
    m.def("fma_peak", [](double seconds) { return active_kernels().fma_peak(seconds); }, "seconds"_a,
          nb::call_guard<nb::gil_scoped_release>());
    m.def("compiler", [] {
#if defined(__clang__)
        return std::string("clang ") + __clang_version__;
#elif defined(__GNUC__)
        return std::string("gcc ") + __VERSION__;
#else
        return std::string("unknown");
#endif
    });
}
