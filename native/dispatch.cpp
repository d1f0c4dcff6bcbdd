#include "dispatch.hpp"

#include <atomic>
#include <stdexcept>

#if defined(__x86_64__) || defined(_M_X64)
#define EXTRANETS_X86 1
#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

namespace extranets {

#ifdef EXTRANETS_X86
namespace x86_v2 { extern const Kernels kernels; }
namespace x86_v3 { extern const Kernels kernels; }
namespace x86_v4 { extern const Kernels kernels; }

namespace {

struct Registers {
    unsigned a, b, c, d;
};

Registers cpuid(unsigned leaf) {
    Registers r{};
#if defined(_MSC_VER)
    int out[4];
    __cpuidex(out, int(leaf), 0);
    r = {unsigned(out[0]), unsigned(out[1]), unsigned(out[2]), unsigned(out[3])};
#else
    __get_cpuid_count(leaf, 0, &r.a, &r.b, &r.c, &r.d);
#endif
    return r;
}

// Which register sets the operating system saves: bits 1-2 for AVX, 5-7 for AVX-512.
unsigned saved_state() {
#if defined(_MSC_VER)
    return unsigned(_xgetbv(0));
#else
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
#endif
}

bool has(unsigned value, unsigned bits) { return (value & bits) == bits; }

int supported_level() {
    const Registers one = cpuid(1), seven = cpuid(7), extended = cpuid(0x80000001u);
    const unsigned sse42_popcnt = (1u << 20) | (1u << 23);
    if (!has(one.c, sse42_popcnt)) return 1;
    const unsigned fma_movbe_osxsave_avx_f16c = (1u << 12) | (1u << 22) | (1u << 27) | (1u << 28) | (1u << 29);
    const unsigned bmi1_avx2_bmi2 = (1u << 3) | (1u << 5) | (1u << 8);
    const unsigned lzcnt = 1u << 5;
    if (!has(one.c, fma_movbe_osxsave_avx_f16c) || !has(seven.b, bmi1_avx2_bmi2) || !has(extended.c, lzcnt)) return 2;
    if (!has(saved_state(), 0x6)) return 2;
    const unsigned avx512_f_dq_cd_bw_vl = (1u << 16) | (1u << 17) | (1u << 28) | (1u << 30) | (1u << 31);
    return has(seven.b, avx512_f_dq_cd_bw_vl) && has(saved_state(), 0xe6) ? 4 : 3;
}

const std::vector<const Kernels*> all{&x86_v2::kernels, &x86_v3::kernels, &x86_v4::kernels};

std::vector<const Kernels*> usable() {
    const int level = supported_level();
    if (level < 2) throw std::runtime_error("extranets needs a processor with SSE4.2 (x86-64-v2, 2009 or newer)");
    return {all.begin(), all.begin() + (level - 1)};
}

}  // namespace
#else
namespace neon { extern const Kernels kernels; }
namespace {
const std::vector<const Kernels*> all{&neon::kernels};
std::vector<const Kernels*> usable() { return all; }
}  // namespace
#endif

namespace {

// Null before the first use. Atomic, because one thread may choose another variant while a second one starts a fit.
std::atomic<const Kernels*> active{nullptr};

std::vector<std::string> names(const std::vector<const Kernels*>& variants) {
    std::vector<std::string> out;
    for (const Kernels* k : variants) out.emplace_back(k->name);
    return out;
}

}  // namespace

std::vector<std::string> built_variants() { return names(all); }

std::vector<std::string> usable_variants() { return names(usable()); }

const Kernels& active_kernels() {
    const Kernels* chosen = active;
    if (!chosen) active = chosen = usable().back();
    return *chosen;
}

void use_variant(const std::string& name) {
    for (const Kernels* k : usable()) {
        if (name == k->name) {
            active = k;
            return;
        }
    }
    std::string known;
    for (const std::string& n : usable_variants()) known += (known.empty() ? "" : ", ") + n;
    throw std::invalid_argument("no kernel variant '" + name + "' on this machine; it can run: " + known);
}

}  // namespace extranets
