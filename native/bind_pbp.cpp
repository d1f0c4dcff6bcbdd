// Probabilistic back-propagation.
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

// The network that every member of a posterior with n_weights weights has.
Shape posterior_shape(const In<int32_t, 1>& hidden, const In<float, 2>& X, size_t n_members, size_t n_weights) {
    require(n_members >= 1, "a posterior needs a member");
    const Shape shape = checked_shape("hidden", hidden.data(), hidden.shape(0), columns_of(X), 1);
    require(size_t(active_kernels().parameter_count(shape)) == n_weights,
            "X has the wrong number of columns for this posterior");
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
    Memory().reads("X", X).reads("y", y).reads("weight", weight).reads("counts", counts).reads("count_rows", count_rows)
        .reads("members", members).reads("targets", targets).reads("hidden", hidden).writes("mean", mean)
        .writes("variance", variance).writes("noise", noise).writes("prior", prior);
    const Data data = data_of(X, y, weight);
    const size_t n = members.shape(0), n_weights = mean.shape(1);
    const Shape shape = posterior_shape(hidden, X, n, n_weights);
    require(n_passes >= 1, "n_passes must be positive");
    require(targets.shape(0) == n, "targets: one row per member is needed");
    require(mean.shape(0) == n && variance.shape(0) == n && variance.shape(1) == n_weights,
            "mean, variance: one row per member is needed, with the same number of columns");
    require(noise.shape(0) == n && noise.shape(1) == 2 && prior.shape(0) == n && prior.shape(1) == 2,
            "noise, prior: one row per member is needed, with two columns");
    const Samples samples(counts, count_rows, n, data);
    std::vector<PbpTask> tasks(n);
    for (size_t i = 0; i < n; ++i) {
        const int target = targets.data()[i];
        require(target >= 0 && target < data.n_outputs, "targets points outside y");
        tasks[i] = {{members.data()[i], shape, samples.counts_of(i)}, seed, n_passes, target,
                    mean.data() + i * n_weights, variance.data() + i * n_weights, noise.data() + 2 * i, prior.data() + 2 * i};
        require(has_rows(data, tasks[i].counts), "counts, weight: a sample without rows");
    }
    const Kernels& kernels = active_kernels();
    run_members(std::vector<Work>(n, {double(n_passes), 1}), checked_threads(n_threads), progress,
                [&](size_t i, Control& control) { kernels.pbp_train(data, tasks[i], control); });
}

void pbp_moments(In<int32_t, 1> hidden, In<double, 2> weight_mean, In<double, 2> weight_variance, In<float, 2> X,
                 Out<double, 2> mean, Out<double, 2> variance, int n_threads) {
    Memory().reads("hidden", hidden).reads("weight_mean", weight_mean).reads("weight_variance", weight_variance).reads("X", X)
        .writes("mean", mean).writes("variance", variance);
    const size_t n_members = weight_mean.shape(0), n_weights = weight_mean.shape(1), n = X.shape(0);
    const Shape shape = posterior_shape(hidden, X, n_members, n_weights);
    require(weight_variance.shape(0) == n_members && weight_variance.shape(1) == n_weights,
            "weight_variance must have the shape of weight_mean");
    require(mean.shape(0) == n_members && variance.shape(0) == n_members && mean.shape(1) == n && variance.shape(1) == n,
            "mean, variance: the wrong shape; they need a row per member and a column per row of X");
    checked_threads(n_threads);
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

}  // namespace

void bind_pbp(nb::module_& m) {
    m.def("pbp_train", &pbp_train, "X"_a.noconvert(), "y"_a.noconvert(), "weight"_a.noconvert().none(),
          "counts"_a.noconvert().none(), "count_rows"_a.noconvert().none(), "members"_a.noconvert(), "targets"_a.noconvert(),
          "hidden"_a.noconvert(), "n_passes"_a, "seed"_a, "mean"_a.noconvert(), "variance"_a.noconvert(),
          "noise"_a.noconvert(), "prior"_a.noconvert(), "n_threads"_a, "progress"_a.none());
    m.def("pbp_moments", &pbp_moments, "hidden"_a.noconvert(), "weight_mean"_a.noconvert(), "weight_variance"_a.noconvert(),
          "X"_a.noconvert(), "mean"_a.noconvert(), "variance"_a.noconvert(), "n_threads"_a);
}

}  // namespace extranets
