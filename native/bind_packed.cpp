// Forward passes of an ensemble.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>

#include "bind.hpp"
#include "checks.hpp"
#include "dispatch.hpp"
#include "memory.hpp"
#include "parallel.hpp"

namespace extranets {

namespace {

using namespace nb::literals;

struct Free {
    void operator()(float* memory) const { free_aligned(memory); }
};

using PassIds = std::shared_ptr<const std::vector<uint32_t>>;

// An ensemble packed for the active variant, ready for forward passes. The caller's arrays are copied, and each call works on
// its own view: another thread may set other passes meanwhile.
class Packed {
  public:
    Packed(int n_inputs, int n_outputs, int n_heads, In<int32_t, 2> the_widths, In<float, 1> parameters,
           const EncodingArrays* encoding)
        : kernels(&active_kernels()) {
        Memory().reads("widths", the_widths).reads("parameters", parameters);
        require(the_widths.shape(0) >= 1, "widths: an ensemble needs a member");
        require(the_widths.shape(0) <= kMostMembers, "widths: too many members");
        require(n_inputs >= 1 && n_outputs >= 1, "n_inputs and n_outputs must be positive");
        require(n_heads == n_outputs || n_heads == 2 * int64_t(n_outputs), "n_heads must be n_outputs or twice that");
        widths.assign(the_widths.data(), the_widths.data() + the_widths.size());
        view.n_members = view.n_passes = int(the_widths.shape(0));
        view.n_inputs = n_inputs;
        view.n_hidden = checked_shape("widths", widths.data(), the_widths.shape(1), n_inputs, n_heads).n_hidden;
        view.n_heads = n_heads;
        view.n_outputs = n_outputs;
        view.widths = widths.data();
        view.parameters = parameters.data();
        view.encoding = EncodingArrays::of(encoding, n_inputs);
        n_parameters = parameters.shape(0);
        require(fit_parameters(), "parameters do not fit widths, n_inputs, n_heads or the encoding");
        memory.reset(static_cast<float*>(allocate_aligned(kernels->packed_floats(view), sizeof(float))));
        kernels->pack_ensemble(view, memory.get());
        view.packed = memory.get();
        view.parameters = nullptr;  // they are packed, and the caller may change them
    }

    void set_passes(std::vector<uint32_t> ids, float dropout_keep, float input_keep, uint64_t seed) {
        require(!ids.empty(), "pass_ids: at least one pass is needed");
        require(ids.size() <= kMostMembers, "pass_ids: too many passes");
        require(dropout_keep > 0 && dropout_keep <= 1, "dropout_keep must be above 0 and at most 1");
        require(input_keep > 0 && input_keep <= 1, "input_keep must be above 0 and at most 1");
        pass_ids = std::make_shared<const std::vector<uint32_t>>(std::move(ids));
        view.pass_ids = pass_ids->data();
        view.n_passes = int(pass_ids->size());
        view.dropout_keep = dropout_keep;
        view.input_keep = input_keep;
        view.seed = seed;
    }

    void forward(In<float, 2> X, Out<float, 3> out, int n_threads) const {
        Memory().reads("X", X).writes("out", out);
        check_rows(X);
        const EnsembleView now = view;
        const PassIds held = pass_ids;
        const int64_t n = int64_t(X.shape(0));
        require(out.shape(0) == size_t(now.n_passes) && int64_t(out.shape(1)) == n && out.shape(2) == size_t(now.n_heads),
                "out has the wrong shape");
        for_row_ranges(n, n_threads, [&](int64_t begin, int64_t end) {
            kernels->forward_rows(now, X.data(), begin, end, out.data(), n * now.n_heads);
        });
    }

    void moments(In<float, 2> X, Out<double, 2> mean, Out<double, 2> variance, std::optional<Out<double, 2>> mean_variance,
                 int n_threads) const {
        Memory().reads("X", X).writes("mean", mean).writes("variance", variance).writes("mean_variance", mean_variance);
        check_rows(X);
        const EnsembleView now = view;
        const PassIds held = pass_ids;
        const auto fits = [&](const Out<double, 2>& out) {
            return out.shape(0) == X.shape(0) && out.shape(1) == size_t(now.n_outputs);
        };
        require(fits(mean) && fits(variance), "mean or variance has the wrong shape");
        require(!mean_variance || (fits(*mean_variance) && now.n_heads == 2 * now.n_outputs),
                "mean_variance has the wrong shape, or the networks predict no variance");
        for_row_ranges(int64_t(X.shape(0)), n_threads, [&](int64_t begin, int64_t end) {
            kernels->moment_rows(now, X.data(), begin, end, mean.data(), variance.data(),
                                 mean_variance ? mean_variance->data() : nullptr);
        });
    }

    void jacobian(In<float, 2> X, int head, Out<float, 2> out, int n_threads) const {
        Memory().reads("X", X).writes("out", out);
        check_rows(X);
        require(view.n_members == 1 && head >= 0 && head < view.n_heads, "head: one member and one of its heads are needed");
        require(out.shape(0) == X.shape(0) && out.shape(1) == n_parameters, "out has the wrong shape");
        const EnsembleView now = view;
        for_row_ranges(int64_t(X.shape(0)), n_threads, [&](int64_t begin, int64_t end) {
            kernels->jacobian_rows(now, X.data(), begin, end, head, out.data());
        });
    }

  private:
    static constexpr size_t kMostMembers = std::numeric_limits<int>::max();

    EnsembleView view{};
    const Kernels* kernels;
    std::vector<int32_t> widths;
    size_t n_parameters = 0;
    PassIds pass_ids;
    std::unique_ptr<float, Free> memory;

    // Whether the members have n_parameters parameters together. Stops before a sum could overflow.
    bool fit_parameters() const {
        int64_t left = int64_t(n_parameters);
        const size_t n_hidden = size_t(view.n_hidden);
        for (size_t i = 0; i < size_t(view.n_members) && left >= 0; ++i)
            left -= kernels->parameter_count(checked_shape("widths", widths.data() + i * n_hidden, n_hidden, view.n_inputs,
                                                           view.n_heads, view.encoding));
        return left == 0;
    }

    void check_rows(const In<float, 2>& X) const {
        require(X.shape(1) == size_t(view.n_inputs), "X has the wrong number of columns");
    }

    // To begin and end a thread takes about as long as a million multiplications, and much longer where other programs hold
    // the cores: each thread beside the calling one must have some millions to do.
    int worthwhile_threads(int64_t n_rows, int n_threads) const {
        constexpr double kLeast = 4e6;
        const double of_row = double(n_parameters) / view.n_members * view.n_passes;
        const double most = 1 + double(n_rows) * of_row / kLeast;
        return int(std::min<double>(checked_threads(n_threads), most));
    }

    // Results do not depend on the ranges. They are long, because a stochastic pass is drawn once per range, but few rows
    // still go to all threads.
    void for_row_ranges(int64_t n_rows, int n_threads, const std::function<void(int64_t, int64_t)>& work) const {
        n_threads = worthwhile_threads(n_rows, n_threads);
        constexpr int64_t kLongest = 512, kShortest = 64;
        const int64_t share = (n_rows + n_threads - 1) / n_threads;
        const int64_t range = std::clamp((share + kShortest - 1) / kShortest * kShortest, kShortest, kLongest);
        const nb::gil_scoped_release release;
        run_parallel((n_rows + range - 1) / range, n_threads,
                     [&](int64_t i) { work(i * range, std::min(n_rows, (i + 1) * range)); });
    }
};

}  // namespace

void bind_packed(nb::module_& m) {
    nb::class_<Packed>(m, "Packed")
        .def(nb::init<int, int, int, In<int32_t, 2>, In<float, 1>, const EncodingArrays*>(), "n_inputs"_a, "n_outputs"_a,
             "n_heads"_a, "widths"_a.noconvert(), "parameters"_a.noconvert(), "encoding"_a.none(), nb::keep_alive<1, 7>())
        .def("set_passes", &Packed::set_passes, "pass_ids"_a, "dropout_keep"_a, "input_keep"_a, "seed"_a)
        .def("forward", &Packed::forward, "X"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a)
        .def("moments", &Packed::moments, "X"_a.noconvert(), "mean"_a.noconvert(), "variance"_a.noconvert(),
             "mean_variance"_a.noconvert().none(), "n_threads"_a)
        .def("jacobian", &Packed::jacobian, "X"_a.noconvert(), "head"_a, "out"_a.noconvert(), "n_threads"_a);
}

}  // namespace extranets
