// One variant of the kernels. CMake compiles this file once per instruction set, with EXTRANETS_VARIANT naming the namespace
// and EXTRANETS_VARIANT_NAME the name that build_info() reports.
//
// Nothing from the C++ standard library that could leave a shared inline function behind may be used here: the linker
// keeps one copy of such a function for all variants, and it might be the one with instructions that this machine lacks.
#include "member.hpp"
#include "pbp.hpp"
#include "predict.hpp"
#include "variational.hpp"

namespace extranets {
double seconds_now();  // parallel.cpp
}

namespace extranets::EXTRANETS_VARIANT {

static void random_words(uint64_t seed, uint32_t member, uint32_t purpose, uint32_t attempt, uint32_t part, int64_t n,
                         uint32_t* out) {
    Words words(make_stream(seed, member, Purpose(purpose), attempt, part));
    for (int64_t i = 0; i < n; ++i) out[i] = words.next();
}

static void random_normals(uint64_t seed, uint32_t member, uint32_t purpose, uint32_t attempt, uint32_t part, int64_t n,
                           float* out) {
    Buffer<float> drawn(normals_room(n));
    draw_normals(make_stream(seed, member, Purpose(purpose), attempt, part), n, drawn.data);
    copy(drawn.data, n, out);
}

// Independent multiply-adds in registers: the most this core can do, as a yardstick for the benchmarks.
static double fma_peak(double seconds) {
    constexpr int kChains = 12;
    constexpr int kLoops = 20000;
    Vec chains[kChains];
    for (int i = 0; i < kChains; ++i) chains[i] = splat(1e-3f * float(i));
    const Vec x = splat(0.999f), y = splat(1e-4f);
    double best = 0;
    for (const double begin = seconds_now(); seconds_now() - begin < seconds;) {
        const double t = seconds_now();
        for (int k = 0; k < kLoops; ++k)
            for (int i = 0; i < kChains; ++i) chains[i] = fma(chains[i], x, y);
        const double rate = 2.0 * kLanes * kChains * kLoops / (seconds_now() - t);
        best = rate > best ? rate : best;
    }
    float used = 0;
    for (int i = 0; i < kChains; ++i) used += sum(chains[i]);
    return used == 12345.0f ? 0 : best;  // so that the loop is not removed
}

extern const Kernels kernels;
const Kernels kernels{EXTRANETS_VARIANT_NAME, parameter_count, place_rows, train_member, train_variational, packed_floats,
                      pack_ensemble, forward_rows, moment_rows, jacobian_rows, batch_gradient,
                      random_words, random_normals, pbp_train, pbp_moments, fma_peak};

}  // namespace extranets::EXTRANETS_VARIANT
