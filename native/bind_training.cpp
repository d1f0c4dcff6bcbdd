// Training by Adam and by variational inference.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "bind.hpp"
#include "checks.hpp"
#include "dispatch.hpp"
#include "placed_rows.hpp"
#include "running.hpp"

namespace extranets {

namespace {

using namespace nb::literals;

// Whether the rows are placed in bins, which are never written out.
bool by_bins(const Shape& shape) {
    return shape.encoding && shape.encoding->kind == EncodingKind::piecewise_linear && shape.n_hidden > 0;
}

// What both kinds of training have in common: which networks, on which rows, and where their numbers go.
struct Plan {
    const In<uint32_t, 1>& members;
    const In<int32_t, 2>& widths;
    const In<int64_t, 1>& offsets;
    const Samples samples;
    const Encoding* encoding;

    Plan(const In<uint32_t, 1>& the_members, const In<int32_t, 2>& the_widths, const In<int64_t, 1>& the_offsets,
         const Samples& the_samples, const Encoding* the_encoding = nullptr)
        : members(the_members), widths(the_widths), offsets(the_offsets), samples(the_samples), encoding(the_encoding) {
        require(widths.shape(0) == size() && offsets.shape(0) == size() + 1,
                "widths needs one row per member, and offsets one number more than members");
        require(offsets.data()[0] == 0, "offsets must start at 0");
        for (size_t i = 0; i < size(); ++i) require(offset(i) < offset(i + 1), "offsets must increase");
    }

    size_t size() const { return members.shape(0); }
    int64_t offset(size_t member) const { return offsets.data()[member]; }
    size_t n_parameters() const { return size_t(offset(size())); }

    Member member(size_t i, const Kernels& kernels, const Data& data, const Options& options, int n_heads) const {
        const size_t n_hidden = widths.shape(1);
        const Shape shape =
            checked_shape("widths", widths.data() + i * n_hidden, n_hidden, data.n_inputs, n_heads, encoding);
        require(kernels.parameter_count(shape) == offset(i + 1) - offset(i),
                "offsets do not fit widths, the columns of X and y, or the encoding");
        check_batch(options, data, samples.size_of(i), n_heads);
        return {members.data()[i], shape, samples.counts_of(i)};
    }

    // Of member i, roughly, in the time that a row's passes through one weight take; measured with AVX-512. Bins are not passed
    // one by one.
    double epoch_cost(size_t i, const Shape& shape, const Options& options) const {
        constexpr double kUpdate = 15, kRow = 300;  // Adam's step of a weight; a row, and each of its columns in bins
        const double n_parameters = double(offset(i + 1) - offset(i)), n_rows = double(samples.size_of(i));
        const bool bins = by_bins(shape);
        const double n_passed = n_parameters - (bins ? double(encoding->n_entries) * shape.widths[0] : 0);
        return n_rows * (n_passed + kRow * (1 + (bins ? encoding->n_columns : 0))) +
               std::ceil(n_rows / options.batch_size) * kUpdate * n_parameters;
    }
};

template <class T>
void require_rows(const char* name, const Out<T, 2>& array, size_t n_members, size_t n_columns) {
    require(array.shape(0) == n_members && array.shape(1) == n_columns, name,
            "one row per member is needed, with the right number of columns");
}

// The networks of one ensemble, on which rows and how they are trained, and where their numbers go. Holds the caller's arrays,
// which may change until they are used: train_all checks them.
struct Training {
    In<float, 2> X, y;
    std::optional<In<float, 1>> weight, adversarial;
    std::optional<In<uint16_t, 2>> counts;
    std::optional<In<int32_t, 1>> count_rows;
    In<uint32_t, 1> members;
    In<int32_t, 2> widths;
    In<int64_t, 1> offsets;
    std::shared_ptr<const EncodingArrays> encoding;
    Options options;
    Out<float, 1> parameters;
    Out<float, 2> loss_curve;
    Out<double, 2> scalars;  // of each member: loss, R^2, validation loss
    Out<int32_t, 2> integers;  // epochs, attempts, outcome
    std::optional<Out<float, 1>> first, second;  // Adam's moments, as parameters; of a stretch alone
    std::optional<In<int64_t, 2>> stretches;  // of each member: attempt, number, step, number of steps

    void add_to(Memory& memory) const {
        memory.reads("X", X).reads("y", y).reads("weight", weight).reads("adversarial", adversarial).reads("counts", counts)
            .reads("count_rows", count_rows).reads("members", members).reads("widths", widths).reads("offsets", offsets)
            .writes("parameters", parameters).writes("loss_curve", loss_curve).writes("scalars", scalars)
            .writes("integers", integers).writes("first", first).writes("second", second).reads("stretches", stretches);
    }

    // One for each member, or none.
    std::vector<Stretch> checked_stretches(const Plan& plan) const {
        require(first.has_value() == second.has_value() && first.has_value() == stretches.has_value(),
                "first, second and stretches are given together");
        if (!stretches) return {};
        require(stretches->shape(0) == plan.size() && stretches->shape(1) == 4, "stretches",
                "four numbers for each member are needed");
        require(plan.n_parameters() <= first->shape(0) && plan.n_parameters() <= second->shape(0),
                "first or second is too small for offsets");
        require(options.n_epochs == 1 && options.n_starts == 1 && options.max_restarts == 0 && options.validation_fraction == 0,
                "stretches: a part of a training is one epoch of one start, without validation");
        std::vector<Stretch> found;
        for (size_t i = 0; i < plan.size(); ++i) {
            const int64_t* s = stretches->data() + 4 * i;
            require(s[0] >= 0 && s[0] < kMostAttempts, "stretches: an attempt must be at least 0 and below 2^24");
            require(s[1] >= 0 && s[1] <= kMostRows, "stretches: a number must be at least 0 and below 2^32");
            require(s[2] >= 0 && s[2] < s[3], "stretches: the step must be at least 0 and below the number of steps");
            found.push_back({first->data() + plan.offset(i), second->data() + plan.offset(i), uint32_t(s[0]), uint32_t(s[1]),
                             s[2], s[3]});
        }
        return found;
    }
};

// A training that has been checked.
struct CheckedTraining {
    const Training& of;
    Data data;
    std::vector<MemberTask> tasks;
    std::vector<Stretch> stretches;
    std::vector<Work> works;

    CheckedTraining(const Training& t, const Kernels& kernels)
        : of(t), data(data_of(t.X, t.y, t.weight, t.adversarial)), tasks(t.members.shape(0)) {
        check_options(t.options);
        const size_t n = tasks.size(), n_epochs = size_t(t.options.n_epochs);
        const Encoding* encoding = EncodingArrays::of(t.encoding.get(), data.n_inputs);
        const Plan plan(t.members, t.widths, t.offsets, {t.counts, t.count_rows, n, data}, encoding);
        require_rows("loss_curve", t.loss_curve, n, n_epochs);
        require_rows("scalars", t.scalars, n, 3);
        require_rows("integers", t.integers, n, 3);
        require(plan.n_parameters() <= t.parameters.shape(0), "parameters is too small for offsets");
        stretches = t.checked_stretches(plan);
        const int n_heads = heads_of(data, t.options);
        for (size_t i = 0; i < n; ++i) {
            static_cast<Member&>(tasks[i]) = plan.member(i, kernels, data, t.options, n_heads);
            tasks[i].stretch = stretches.empty() ? nullptr : &stretches[i];
            tasks[i].parameters = t.parameters.data() + plan.offset(i);
            tasks[i].loss_curve = t.loss_curve.data() + i * n_epochs;
            works.push_back({double(t.options.n_epochs) * t.options.n_starts, plan.epoch_cost(i, tasks[i].shape, t.options)});
        }
    }

    void hand_over() const {
        for (size_t i = 0; i < tasks.size(); ++i) {
            double* s = of.scalars.data() + 3 * i;
            int32_t* k = of.integers.data() + 3 * i;
            s[0] = tasks[i].train_loss, s[1] = tasks[i].train_r2, s[2] = tasks[i].validation_loss;
            k[0] = tasks[i].n_epochs_run, k[1] = tasks[i].n_attempts, k[2] = int32_t(tasks[i].outcome);
        }
    }
};

// Fills the arrays of all trainings. Their members wait in one queue.
void train_all(const std::vector<Training>& trainings, int n_threads, nb::object progress) {
    checked_threads(n_threads);
    const Kernels& kernels = active_kernels();
    Memory memory;
    for (const Training& training : trainings) training.add_to(memory);
    std::vector<CheckedTraining> checked;
    for (const Training& training : trainings) checked.emplace_back(training, kernels);
    PlacedRows placed;
    std::vector<std::pair<const CheckedTraining*, MemberTask*>> queue;
    std::vector<Work> works;
    for (CheckedTraining& training : checked) {
        for (MemberTask& task : training.tasks) queue.emplace_back(&training, &task);
        if (!training.tasks.empty() && by_bins(training.tasks[0].shape))
            placed.add(training.data, *training.tasks[0].shape.encoding);
        works.insert(works.end(), training.works.begin(), training.works.end());
    }
    placed.place(kernels, n_threads);
    run_members(works, n_threads, progress, [&](size_t i, Control& control) {
        const auto [training, task] = queue[i];
        kernels.train_member(training->data, training->of.options, *task, control);
    });
    for (const CheckedTraining& training : checked) training.hand_over();
}

// Fills every array that is not read: mean and std in the layout of parameters, the rest with a row per member.
void train_variational(In<float, 2> X, In<float, 2> y, std::optional<In<float, 1>> weight,
                       std::optional<In<uint16_t, 2>> counts, std::optional<In<int32_t, 1>> count_rows,
                       In<uint32_t, 1> members, In<int32_t, 2> widths, In<int64_t, 1> offsets, Options options,
                       Out<float, 1> mean, Out<float, 1> std, Out<float, 2> noise_variance, Out<float, 1> prior_variance,
                       Out<float, 2> loss_curve, Out<int32_t, 1> outcomes, bool graves, int n_threads,
                       nb::object progress) {
    Memory().reads("X", X).reads("y", y).reads("weight", weight).reads("counts", counts).reads("count_rows", count_rows)
        .reads("members", members).reads("widths", widths).reads("offsets", offsets).writes("mean", mean).writes("std", std)
        .writes("noise_variance", noise_variance).writes("prior_variance", prior_variance).writes("loss_curve", loss_curve)
        .writes("outcomes", outcomes);
    check_options(options);
    const Data data = data_of(X, y, weight);
    const size_t n = members.shape(0), n_epochs = size_t(options.n_epochs), n_outputs = size_t(data.n_outputs);
    const Plan plan(members, widths, offsets, {counts, count_rows, n, data});
    require_rows("loss_curve", loss_curve, n, n_epochs);
    require_rows("noise_variance", noise_variance, n, n_outputs);
    require(prior_variance.shape(0) == n && outcomes.shape(0) == n,
            "prior_variance, outcomes: one row per member is needed");
    require(plan.n_parameters() <= mean.shape(0) && plan.n_parameters() <= std.shape(0),
            "mean or std is too small for offsets");
    const Kernels& kernels = active_kernels();
    std::vector<VariationalTask> tasks(n);
    std::vector<Work> works;
    for (size_t i = 0; i < n; ++i) {
        static_cast<Member&>(tasks[i]) = plan.member(i, kernels, data, options, data.n_outputs);
        tasks[i].graves = graves;
        tasks[i].mean = mean.data() + plan.offset(i);
        tasks[i].std = std.data() + plan.offset(i);
        tasks[i].noise_variance = noise_variance.data() + i * n_outputs;
        tasks[i].prior_variance = prior_variance.data() + i;
        tasks[i].loss_curve = loss_curve.data() + i * n_epochs;
        works.push_back({double(n_epochs), plan.epoch_cost(i, tasks[i].shape, options)});
    }
    run_members(works, checked_threads(n_threads), progress, [&](size_t i, Control& control) {
        kernels.train_variational(data, options, tasks[i], control);
    });
    for (size_t i = 0; i < n; ++i) outcomes.data()[i] = int32_t(tasks[i].outcome);
}

double gradient(In<float, 2> X, In<float, 2> y, std::optional<In<float, 1>> weight, In<int32_t, 1> widths,
                In<float, 1> parameters, const EncodingArrays* encoding, Options options, Out<float, 1> out) {
    Memory().reads("X", X).reads("y", y).reads("weight", weight).reads("widths", widths).reads("parameters", parameters)
        .writes("out", out);
    check_options(options);
    Data data = data_of(X, y, weight);
    const int n_heads = heads_of(data, options);
    const Shape shape = checked_shape("widths", widths.data(), widths.shape(0), data.n_inputs, n_heads,
                                      EncodingArrays::of(encoding, data.n_inputs));
    const Kernels& kernels = active_kernels();
    const size_t n = size_t(kernels.parameter_count(shape));
    require(parameters.shape(0) == n && out.shape(0) == n, "parameters or out do not fit widths");
    require(data.n_rows * n_heads < (int64_t(1) << 31), "X: a gradient is of fewer than 2^31 predictions");
    PlacedRows placed;
    if (by_bins(shape)) placed.add(data, *shape.encoding);
    placed.place(kernels, 1);
    return kernels.batch_gradient(data, options, shape, parameters.data(), out.data());
}

}  // namespace

void bind_training(nb::module_& m) {
    nb::class_<Training>(m, "Training")
        .def(nb::init<In<float, 2>, In<float, 2>, std::optional<In<float, 1>>, std::optional<In<float, 1>>,
                      std::optional<In<uint16_t, 2>>, std::optional<In<int32_t, 1>>, In<uint32_t, 1>, In<int32_t, 2>,
                      In<int64_t, 1>, std::shared_ptr<const EncodingArrays>, Options, Out<float, 1>, Out<float, 2>,
                      Out<double, 2>, Out<int32_t, 2>, std::optional<Out<float, 1>>, std::optional<Out<float, 1>>,
                      std::optional<In<int64_t, 2>>>(),
             "X"_a.noconvert(), "y"_a.noconvert(), "weight"_a.noconvert().none(), "adversarial"_a.noconvert().none(),
             "counts"_a.noconvert().none(), "count_rows"_a.noconvert().none(), "members"_a.noconvert(), "widths"_a.noconvert(),
             "offsets"_a.noconvert(), "encoding"_a.none(), "options"_a, "parameters"_a.noconvert(),
             "loss_curve"_a.noconvert(), "scalars"_a.noconvert(), "integers"_a.noconvert(),
             "first"_a.noconvert() = nb::none(), "second"_a.noconvert() = nb::none(), "stretches"_a.noconvert() = nb::none());
    m.def("train_all", &train_all, "trainings"_a, "n_threads"_a, "progress"_a.none());
    m.def("train_variational", &train_variational, "X"_a.noconvert(), "y"_a.noconvert(), "weight"_a.noconvert().none(),
          "counts"_a.noconvert().none(), "count_rows"_a.noconvert().none(), "members"_a.noconvert(), "widths"_a.noconvert(),
          "offsets"_a.noconvert(), "options"_a, "mean"_a.noconvert(), "std"_a.noconvert(), "noise_variance"_a.noconvert(),
          "prior_variance"_a.noconvert(), "loss_curve"_a.noconvert(), "outcomes"_a.noconvert(), "graves"_a, "n_threads"_a,
          "progress"_a.none());
    m.def("gradient", &gradient, "X"_a.noconvert(), "y"_a.noconvert(), "weight"_a.noconvert().none(), "widths"_a.noconvert(),
          "parameters"_a.noconvert(), "encoding"_a.none(), "options"_a, "out"_a.noconvert());
}

}  // namespace extranets
