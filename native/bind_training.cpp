// Training by Adam and by variational inference.
#include <nanobind/stl/optional.h>

#include <algorithm>

#include "bind.hpp"
#include "checks.hpp"
#include "dispatch.hpp"
#include "parallel.hpp"
#include "running.hpp"

namespace extranets {

namespace {

using namespace nb::literals;

// Where the rows of a table lie in the bins of its columns: found once, read by all members.
struct PlacedRows {
    std::vector<uint8_t> bins;
    std::vector<float> positions;

    PlacedRows(const Kernels& kernels, const Encoding* encoding, size_t n_hidden, int n_threads, Data& data) {
        if (!encoding || encoding->kind != EncodingKind::piecewise_linear || n_hidden == 0) return;
        constexpr int64_t kRange = 8192;
        bins.resize(size_t(data.n_rows) * size_t(encoding->n_columns));
        positions.resize(bins.size());
        data.bins = bins.data();
        data.positions = positions.data();
        const nb::gil_scoped_release release;
        run_parallel((data.n_rows + kRange - 1) / kRange, n_threads, [&](int64_t i) {
            kernels.place_rows(*encoding, data.X, data.n_inputs, i * kRange, std::min(data.n_rows, (i + 1) * kRange),
                               bins.data(), positions.data());
        });
    }
};

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
};

template <class T>
void require_rows(const char* name, const Out<T, 2>& array, size_t n_members, size_t n_columns) {
    require(array.shape(0) == n_members && array.shape(1) == n_columns, name,
            "one row per member is needed, with the right number of columns");
}

// Fills parameters, loss_curve, scalars (loss, R^2, validation loss) and integers (epochs, attempts, outcome).
void train(In<float, 2> X, In<float, 2> y, std::optional<In<float, 1>> weight, std::optional<In<float, 1>> adversarial,
           std::optional<In<uint16_t, 2>> counts, std::optional<In<int32_t, 1>> count_rows, In<uint32_t, 1> members,
           In<int32_t, 2> widths, In<int64_t, 1> offsets, const EncodingArrays* encoding, Options options,
           Out<float, 1> parameters, Out<float, 2> loss_curve, Out<double, 2> scalars, Out<int32_t, 2> integers, int n_threads,
           nb::object progress) {
    Memory().reads("X", X).reads("y", y).reads("weight", weight).reads("adversarial", adversarial).reads("counts", counts)
        .reads("count_rows", count_rows).reads("members", members).reads("widths", widths).reads("offsets", offsets)
        .writes("parameters", parameters).writes("loss_curve", loss_curve).writes("scalars", scalars)
        .writes("integers", integers);
    check_options(options);
    Data data = data_of(X, y, weight, adversarial);
    const size_t n = members.shape(0), n_epochs = size_t(options.n_epochs);
    const Plan plan(members, widths, offsets, {counts, count_rows, n, data}, EncodingArrays::of(encoding, data.n_inputs));
    require_rows("loss_curve", loss_curve, n, n_epochs);
    require_rows("scalars", scalars, n, 3);
    require_rows("integers", integers, n, 3);
    require(plan.n_parameters() <= parameters.shape(0), "parameters is too small for offsets");
    const Kernels& kernels = active_kernels();
    const int n_heads = heads_of(data, options);
    std::vector<MemberTask> tasks(n);
    for (size_t i = 0; i < n; ++i) {
        static_cast<Member&>(tasks[i]) = plan.member(i, kernels, data, options, n_heads);
        tasks[i].parameters = parameters.data() + plan.offset(i);
        tasks[i].loss_curve = loss_curve.data() + i * n_epochs;
    }
    const PlacedRows placed(kernels, plan.encoding, widths.shape(1), checked_threads(n_threads), data);
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
                       In<uint32_t, 1> members, In<int32_t, 2> widths, In<int64_t, 1> offsets, Options options,
                       Out<float, 1> mean, Out<float, 1> std, Out<float, 2> noise_variance, Out<float, 1> prior_variance,
                       Out<float, 2> loss_curve, Out<int32_t, 1> outcomes, int n_threads, nb::object progress) {
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
    for (size_t i = 0; i < n; ++i) {
        static_cast<Member&>(tasks[i]) = plan.member(i, kernels, data, options, data.n_outputs);
        tasks[i].mean = mean.data() + plan.offset(i);
        tasks[i].std = std.data() + plan.offset(i);
        tasks[i].noise_variance = noise_variance.data() + i * n_outputs;
        tasks[i].prior_variance = prior_variance.data() + i;
        tasks[i].loss_curve = loss_curve.data() + i * n_epochs;
    }
    run_members(n, options.n_epochs, checked_threads(n_threads), progress, [&](size_t i, Control& control) {
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
    const PlacedRows placed(kernels, shape.encoding, widths.shape(0), 1, data);
    return kernels.batch_gradient(data, options, shape, parameters.data(), out.data());
}

}  // namespace

void bind_training(nb::module_& m) {
    m.def("train", &train, "X"_a.noconvert(), "y"_a.noconvert(), "weight"_a.noconvert().none(),
          "adversarial"_a.noconvert().none(), "counts"_a.noconvert().none(), "count_rows"_a.noconvert().none(),
          "members"_a.noconvert(), "widths"_a.noconvert(), "offsets"_a.noconvert(), "encoding"_a.none(), "options"_a,
          "parameters"_a.noconvert(), "loss_curve"_a.noconvert(), "scalars"_a.noconvert(), "integers"_a.noconvert(),
          "n_threads"_a, "progress"_a.none());
    m.def("train_variational", &train_variational, "X"_a.noconvert(), "y"_a.noconvert(), "weight"_a.noconvert().none(),
          "counts"_a.noconvert().none(), "count_rows"_a.noconvert().none(), "members"_a.noconvert(), "widths"_a.noconvert(),
          "offsets"_a.noconvert(), "options"_a, "mean"_a.noconvert(), "std"_a.noconvert(), "noise_variance"_a.noconvert(),
          "prior_variance"_a.noconvert(), "loss_curve"_a.noconvert(), "outcomes"_a.noconvert(), "n_threads"_a,
          "progress"_a.none());
    m.def("gradient", &gradient, "X"_a.noconvert(), "y"_a.noconvert(), "weight"_a.noconvert().none(), "widths"_a.noconvert(),
          "parameters"_a.noconvert(), "encoding"_a.none(), "options"_a, "out"_a.noconvert());
}

}  // namespace extranets
