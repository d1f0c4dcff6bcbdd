// The Python face of the engine. It checks whatever could put memory at risk, releases the GIL and calls the kernels.
//
// src/extranets/engine/ is its only caller, and is not trusted: every call either works or raises TypeError, ValueError or
// MemoryError. Arrays are taken as they are, never converted: a converted output would be filled and thrown away. The one
// thing that is left to the caller is that no other thread changes the arrays of a call before it returns.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "checks.hpp"
#include "dispatch.hpp"
#include "parallel.hpp"

namespace extranets {

namespace {

using namespace nb::literals;

// Beyond, streams of different names would hold the same words.
void check_stream(uint32_t purpose, uint32_t attempt) {
    require(purpose < 256, "purpose must be below 256");
    require(attempt < uint32_t(kMostAttempts), "attempt must be below 2^24");
}

void random_words(uint64_t seed, uint32_t member, uint32_t purpose, uint32_t attempt, uint32_t part, Out<uint32_t, 1> out) {
    Memory().writes("out", out);
    check_stream(purpose, attempt);
    active_kernels().random_words(seed, member, purpose, attempt, part, int64_t(out.shape(0)), out.data());
}

void random_normals(uint64_t seed, uint32_t member, uint32_t purpose, uint32_t attempt, uint32_t part, Out<float, 1> out) {
    Memory().writes("out", out);
    check_stream(purpose, attempt);
    active_kernels().random_normals(seed, member, purpose, attempt, part, int64_t(out.shape(0)), out.data());
}

double fma_peak(double seconds) {
    require(seconds >= 0 && seconds <= 60, "seconds must lie between 0 and 60");
    const Kernels& kernels = active_kernels();
    const nb::gil_scoped_release release;
    return kernels.fma_peak(seconds);
}

std::string compiler() {
#if defined(__clang__)
    return std::string("clang ") + __clang_version__;
#elif defined(__GNUC__)
    return std::string("gcc ") + __VERSION__;
#else
    return "unknown";
#endif
}

void set_loss(Options& options, int loss) {
    require(loss >= 0 && loss <= int(Loss::gaussian_nll), "loss: no such code");
    options.loss = Loss(loss);
}

void set_schedule(Options& options, int schedule) {
    require(schedule >= 0 && schedule <= int(Schedule::cosine), "schedule: no such code");
    options.schedule = Schedule(schedule);
}

// So that Python's TypeError names the option.
auto named(const char* name) { return nb::for_setter(nb::arg(name)); }

void bind_options(nb::module_& m) {
    nb::class_<Options> options(m, "Options");
    const auto field = [&](const char* name, auto member) { options.def_rw(name, member, named(name)); };
    options.def(nb::init<>());
    options.def_prop_rw("loss", [](const Options& o) { return int(o.loss); }, &set_loss, named("loss"));
    options.def_prop_rw("schedule", [](const Options& o) { return int(o.schedule); }, &set_schedule, named("schedule"));
    field("n_epochs", &Options::n_epochs);
    field("batch_size", &Options::batch_size);
    field("learning_rate", &Options::learning_rate);
    field("beta1", &Options::beta1);
    field("beta2", &Options::beta2);
    field("epsilon", &Options::epsilon);
    field("weight_decay", &Options::weight_decay);
    field("warm_up_epochs", &Options::warm_up_epochs);
    field("dropout_keep", &Options::dropout_keep);
    field("input_keep", &Options::input_keep);
    field("max_grad_norm", &Options::max_grad_norm);
    field("validation_fraction", &Options::validation_fraction);
    field("patience", &Options::patience);
    field("tolerance", &Options::tolerance);
    field("n_starts", &Options::n_starts);
    field("max_restarts", &Options::max_restarts);
    field("collapse_r2", &Options::collapse_r2);
    field("seed", &Options::seed);
}

}  // namespace

NB_MODULE(_native, m) {
    ready_to_throw();
    bind_options(m);
    nb::class_<EncodingArrays>(m, "Encoding")
        .def(nb::init<int, In<int32_t, 1>, In<int32_t, 1>, In<float, 1>>(), "kind"_a, "columns"_a.noconvert(),
             "first"_a.noconvert(), "numbers"_a.noconvert());
    bind_packed(m);
    bind_training(m);
    bind_pbp(m);
    m.def("random_words", &random_words, "seed"_a, "member"_a, "purpose"_a, "attempt"_a, "part"_a, "out"_a.noconvert());
    m.def("random_normals", &random_normals, "seed"_a, "member"_a, "purpose"_a, "attempt"_a, "part"_a, "out"_a.noconvert());
    m.def("built_variants", &built_variants);
    m.def("usable_variants", &usable_variants);
    m.def("use_variant", &use_variant, "name"_a);
    m.def("active_variant", [] { return std::string(active_kernels().name); });
    m.def("fma_peak", &fma_peak, "seconds"_a);
    m.def("compiler", &compiler);
}

}  // namespace extranets
