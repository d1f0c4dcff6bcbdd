// One float vector type per instruction set, with the dozen operations that the kernels need.
//
// Every variant of the engine includes this file with other compiler flags; the macros below pick the widest type those
// flags allow. Everything lives in the variant's own namespace so that the linker can never mix code from two variants.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#if defined(__AVX512F__) || defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#ifndef EXTRANETS_VARIANT
#error "EXTRANETS_VARIANT must name the namespace of this build"
#endif

#define EXTRANETS_INLINE static inline __attribute__((always_inline))

// Tiles live in registers only if every loop over a tile is unrolled in full.
#if defined(__clang__)
#define EXTRANETS_UNROLL _Pragma("unroll")
#else
#define EXTRANETS_UNROLL _Pragma("GCC unroll 8")
#endif

namespace extranets::EXTRANETS_VARIANT {

#if defined(__AVX512F__)

constexpr int kLanes = 16;
using Vec = __m512;
EXTRANETS_INLINE Vec load(const float* p) { return _mm512_loadu_ps(p); }
EXTRANETS_INLINE void store(float* p, Vec a) { _mm512_storeu_ps(p, a); }
// The first n numbers, 0 < n < kLanes, then zeros; reads nothing beyond them.
EXTRANETS_INLINE Vec load_first(const float* p, int n) { return _mm512_maskz_loadu_ps(__mmask16((1u << n) - 1u), p); }
EXTRANETS_INLINE Vec splat(float x) { return _mm512_set1_ps(x); }
EXTRANETS_INLINE Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
EXTRANETS_INLINE Vec subtract(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
EXTRANETS_INLINE Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
// Right to within two units in the last place; one Newton step on the 14-bit reciprocal, because a true division of sixteen
// numbers would be the slowest part of Adam.
EXTRANETS_INLINE Vec divide(Vec a, Vec b) {
    const Vec guess = _mm512_rcp14_ps(b);
    return _mm512_mul_ps(a, _mm512_mul_ps(guess, _mm512_fnmadd_ps(b, guess, _mm512_set1_ps(2.0f))));
}
EXTRANETS_INLINE Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
EXTRANETS_INLINE Vec maximum(Vec a, Vec b) { return _mm512_max_ps(a, b); }
EXTRANETS_INLINE Vec square_root(Vec a) { return _mm512_sqrt_ps(a); }
// a * b where gate > 0, else 0
EXTRANETS_INLINE Vec gated_product(Vec gate, Vec a, Vec b) {
    return _mm512_maskz_mul_ps(_mm512_cmp_ps_mask(gate, _mm512_setzero_ps(), _CMP_GT_OQ), a, b);
}
// Of every variant: the first half of the numbers plus the second half, until one is left.
EXTRANETS_INLINE float sum(Vec a) {
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

// 64-bit lanes for the random numbers; multiply_low multiplies the lower halves.
using Wide = __m512i;
EXTRANETS_INLINE Wide wide_load(const uint64_t* p) { return _mm512_loadu_si512(p); }
EXTRANETS_INLINE void wide_store(uint64_t* p, Wide a) { _mm512_storeu_si512(p, a); }
EXTRANETS_INLINE Wide wide_splat(uint32_t x) { return _mm512_set1_epi64(int64_t(x)); }
EXTRANETS_INLINE Wide multiply_low(Wide a, Wide b) { return _mm512_mul_epu32(a, b); }
EXTRANETS_INLINE Wide upper_half(Wide a) { return _mm512_srli_epi64(a, 32); }
EXTRANETS_INLINE Wide exclusive_or(Wide a, Wide b) { return _mm512_xor_si512(a, b); }

#elif defined(__AVX2__)

constexpr int kLanes = 8;
using Vec = __m256;
EXTRANETS_INLINE Vec load(const float* p) { return _mm256_loadu_ps(p); }
EXTRANETS_INLINE void store(float* p, Vec a) { _mm256_storeu_ps(p, a); }
EXTRANETS_INLINE Vec load_first(const float* p, int n) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane));
}
EXTRANETS_INLINE Vec splat(float x) { return _mm256_set1_ps(x); }
EXTRANETS_INLINE Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
EXTRANETS_INLINE Vec subtract(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
EXTRANETS_INLINE Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
EXTRANETS_INLINE Vec divide(Vec a, Vec b) { return _mm256_div_ps(a, b); }
EXTRANETS_INLINE Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
EXTRANETS_INLINE Vec maximum(Vec a, Vec b) { return _mm256_max_ps(a, b); }
EXTRANETS_INLINE Vec square_root(Vec a) { return _mm256_sqrt_ps(a); }
EXTRANETS_INLINE Vec gated_product(Vec gate, Vec a, Vec b) {
    return _mm256_and_ps(_mm256_cmp_ps(gate, _mm256_setzero_ps(), _CMP_GT_OQ), _mm256_mul_ps(a, b));
}
EXTRANETS_INLINE float sum(Vec a) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

using Wide = __m256i;
EXTRANETS_INLINE Wide wide_load(const uint64_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
EXTRANETS_INLINE void wide_store(uint64_t* p, Wide a) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a); }
EXTRANETS_INLINE Wide wide_splat(uint32_t x) { return _mm256_set1_epi64x(int64_t(x)); }
EXTRANETS_INLINE Wide multiply_low(Wide a, Wide b) { return _mm256_mul_epu32(a, b); }
EXTRANETS_INLINE Wide upper_half(Wide a) { return _mm256_srli_epi64(a, 32); }
EXTRANETS_INLINE Wide exclusive_or(Wide a, Wide b) { return _mm256_xor_si256(a, b); }

#elif defined(__SSE2__)

constexpr int kLanes = 4;
using Vec = __m128;
EXTRANETS_INLINE Vec load(const float* p) { return _mm_loadu_ps(p); }
EXTRANETS_INLINE void store(float* p, Vec a) { _mm_storeu_ps(p, a); }
EXTRANETS_INLINE Vec load_first(const float* p, int n) {
    return _mm_setr_ps(p[0], n > 1 ? p[1] : 0.0f, n > 2 ? p[2] : 0.0f, 0.0f);
}
EXTRANETS_INLINE Vec splat(float x) { return _mm_set1_ps(x); }
EXTRANETS_INLINE Vec add(Vec a, Vec b) { return _mm_add_ps(a, b); }
EXTRANETS_INLINE Vec subtract(Vec a, Vec b) { return _mm_sub_ps(a, b); }
EXTRANETS_INLINE Vec mul(Vec a, Vec b) { return _mm_mul_ps(a, b); }
EXTRANETS_INLINE Vec divide(Vec a, Vec b) { return _mm_div_ps(a, b); }
EXTRANETS_INLINE Vec fma(Vec a, Vec b, Vec c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
EXTRANETS_INLINE Vec maximum(Vec a, Vec b) { return _mm_max_ps(a, b); }
EXTRANETS_INLINE Vec square_root(Vec a) { return _mm_sqrt_ps(a); }
EXTRANETS_INLINE Vec gated_product(Vec gate, Vec a, Vec b) {
    return _mm_and_ps(_mm_cmpgt_ps(gate, _mm_setzero_ps()), _mm_mul_ps(a, b));
}
EXTRANETS_INLINE float sum(Vec a) {
    const __m128 s = _mm_add_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

using Wide = __m128i;
EXTRANETS_INLINE Wide wide_load(const uint64_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
EXTRANETS_INLINE void wide_store(uint64_t* p, Wide a) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), a); }
EXTRANETS_INLINE Wide wide_splat(uint32_t x) { return _mm_set1_epi64x(int64_t(x)); }
EXTRANETS_INLINE Wide multiply_low(Wide a, Wide b) { return _mm_mul_epu32(a, b); }
EXTRANETS_INLINE Wide upper_half(Wide a) { return _mm_srli_epi64(a, 32); }
EXTRANETS_INLINE Wide exclusive_or(Wide a, Wide b) { return _mm_xor_si128(a, b); }

#elif defined(__ARM_NEON)

constexpr int kLanes = 4;
using Vec = float32x4_t;
EXTRANETS_INLINE Vec load(const float* p) { return vld1q_f32(p); }
EXTRANETS_INLINE void store(float* p, Vec a) { vst1q_f32(p, a); }
EXTRANETS_INLINE Vec load_first(const float* p, int n) {
    const float first[4] = {p[0], n > 1 ? p[1] : 0.0f, n > 2 ? p[2] : 0.0f, 0.0f};
    return vld1q_f32(first);
}
EXTRANETS_INLINE Vec splat(float x) { return vdupq_n_f32(x); }
EXTRANETS_INLINE Vec add(Vec a, Vec b) { return vaddq_f32(a, b); }
EXTRANETS_INLINE Vec subtract(Vec a, Vec b) { return vsubq_f32(a, b); }
EXTRANETS_INLINE Vec mul(Vec a, Vec b) { return vmulq_f32(a, b); }
EXTRANETS_INLINE Vec divide(Vec a, Vec b) { return vdivq_f32(a, b); }
EXTRANETS_INLINE Vec fma(Vec a, Vec b, Vec c) { return vfmaq_f32(c, a, b); }
EXTRANETS_INLINE Vec maximum(Vec a, Vec b) { return vmaxq_f32(a, b); }
EXTRANETS_INLINE Vec square_root(Vec a) { return vsqrtq_f32(a); }
EXTRANETS_INLINE Vec gated_product(Vec gate, Vec a, Vec b) {
    return vreinterpretq_f32_u32(vandq_u32(vcgtq_f32(gate, vdupq_n_f32(0)), vreinterpretq_u32_f32(vmulq_f32(a, b))));
}
EXTRANETS_INLINE float sum(Vec a) {
    const float32x2_t s = vadd_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(s, 0) + vget_lane_f32(s, 1);
}

using Wide = uint64x2_t;
EXTRANETS_INLINE Wide wide_load(const uint64_t* p) { return vld1q_u64(p); }
EXTRANETS_INLINE void wide_store(uint64_t* p, Wide a) { vst1q_u64(p, a); }
EXTRANETS_INLINE Wide wide_splat(uint32_t x) { return vdupq_n_u64(x); }
EXTRANETS_INLINE Wide multiply_low(Wide a, Wide b) { return vmull_u32(vmovn_u64(a), vmovn_u64(b)); }
EXTRANETS_INLINE Wide upper_half(Wide a) { return vshrq_n_u64(a, 32); }
EXTRANETS_INLINE Wide exclusive_or(Wide a, Wide b) { return veorq_u64(a, b); }

#else
#error "extranets has kernels for x86-64 and 64-bit ARM only"
#endif

// Treats denormal numbers as zero on this thread while it lives. The moments of a dead unit decay towards zero for ever, and
// arithmetic on denormals is many times slower than on other numbers.
struct FlushDenormals {
#if defined(__SSE2__)
    unsigned saved;
    FlushDenormals() : saved(_mm_getcsr()) { _mm_setcsr(saved | 0x8040u); }
    ~FlushDenormals() { _mm_setcsr(saved); }
#else
    uint64_t saved;
    FlushDenormals() {
        __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
        __asm__ volatile("msr fpcr, %0" : : "r"(saved | (uint64_t(1) << 24)));
    }
    ~FlushDenormals() { __asm__ volatile("msr fpcr, %0" : : "r"(saved)); }
#endif
    FlushDenormals(const FlushDenormals&) = delete;
    FlushDenormals& operator=(const FlushDenormals&) = delete;
};

EXTRANETS_INLINE Vec zero() { return splat(0.0f); }

// Widths are padded to whole vectors. Padded weights start at zero and have zero gradients, so they stay zero.
EXTRANETS_INLINE int padded(int width) { return (width + kLanes - 1) / kLanes * kLanes; }

// Copies a row of a table into a row of padded width; the padding becomes zero.
EXTRANETS_INLINE void copy_padded(const float* from, int width, float* to) {
    int k = 0;
    for (; k + kLanes <= width; k += kLanes) store(to + k, load(from + k));
    if (k < width) store(to + k, load_first(from + k, width - k));
}

}  // namespace extranets::EXTRANETS_VARIANT
