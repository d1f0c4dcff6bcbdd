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

namespace EXTRANETS_VARIANT {

#if defined(__AVX512F__)

constexpr int kLanes = 16;
using Vec = __m512;
EXTRANETS_INLINE Vec load(const float* p) { return _mm512_loadu_ps(p); }
EXTRANETS_INLINE void store(float* p, Vec a) { _mm512_storeu_ps(p, a); }
EXTRANETS_INLINE Vec splat(float x) { return _mm512_set1_ps(x); }
EXTRANETS_INLINE Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
EXTRANETS_INLINE Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
EXTRANETS_INLINE Vec divide(Vec a, Vec b) { return _mm512_div_ps(a, b); }
EXTRANETS_INLINE Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
EXTRANETS_INLINE Vec maximum(Vec a, Vec b) { return _mm512_max_ps(a, b); }
EXTRANETS_INLINE Vec square_root(Vec a) { return _mm512_sqrt_ps(a); }
// a where gate > 0, else 0
EXTRANETS_INLINE Vec where_positive(Vec gate, Vec a) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(gate, _mm512_setzero_ps(), _CMP_GT_OQ), a);
}
EXTRANETS_INLINE float sum(Vec a) { return _mm512_reduce_add_ps(a); }

#elif defined(__AVX2__)

constexpr int kLanes = 8;
using Vec = __m256;
EXTRANETS_INLINE Vec load(const float* p) { return _mm256_loadu_ps(p); }
EXTRANETS_INLINE void store(float* p, Vec a) { _mm256_storeu_ps(p, a); }
EXTRANETS_INLINE Vec splat(float x) { return _mm256_set1_ps(x); }
EXTRANETS_INLINE Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
EXTRANETS_INLINE Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
EXTRANETS_INLINE Vec divide(Vec a, Vec b) { return _mm256_div_ps(a, b); }
EXTRANETS_INLINE Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
EXTRANETS_INLINE Vec maximum(Vec a, Vec b) { return _mm256_max_ps(a, b); }
EXTRANETS_INLINE Vec square_root(Vec a) { return _mm256_sqrt_ps(a); }
EXTRANETS_INLINE Vec where_positive(Vec gate, Vec a) {
    return _mm256_and_ps(_mm256_cmp_ps(gate, _mm256_setzero_ps(), _CMP_GT_OQ), a);
}
EXTRANETS_INLINE float sum(Vec a) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

#elif defined(__SSE2__)

constexpr int kLanes = 4;
using Vec = __m128;
EXTRANETS_INLINE Vec load(const float* p) { return _mm_loadu_ps(p); }
EXTRANETS_INLINE void store(float* p, Vec a) { _mm_storeu_ps(p, a); }
EXTRANETS_INLINE Vec splat(float x) { return _mm_set1_ps(x); }
EXTRANETS_INLINE Vec add(Vec a, Vec b) { return _mm_add_ps(a, b); }
EXTRANETS_INLINE Vec mul(Vec a, Vec b) { return _mm_mul_ps(a, b); }
EXTRANETS_INLINE Vec divide(Vec a, Vec b) { return _mm_div_ps(a, b); }
EXTRANETS_INLINE Vec fma(Vec a, Vec b, Vec c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
EXTRANETS_INLINE Vec maximum(Vec a, Vec b) { return _mm_max_ps(a, b); }
EXTRANETS_INLINE Vec square_root(Vec a) { return _mm_sqrt_ps(a); }
EXTRANETS_INLINE Vec where_positive(Vec gate, Vec a) { return _mm_and_ps(_mm_cmpgt_ps(gate, _mm_setzero_ps()), a); }
EXTRANETS_INLINE float sum(Vec a) {
    const __m128 s = _mm_add_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

#elif defined(__ARM_NEON)

constexpr int kLanes = 4;
using Vec = float32x4_t;
EXTRANETS_INLINE Vec load(const float* p) { return vld1q_f32(p); }
EXTRANETS_INLINE void store(float* p, Vec a) { vst1q_f32(p, a); }
EXTRANETS_INLINE Vec splat(float x) { return vdupq_n_f32(x); }
EXTRANETS_INLINE Vec add(Vec a, Vec b) { return vaddq_f32(a, b); }
EXTRANETS_INLINE Vec mul(Vec a, Vec b) { return vmulq_f32(a, b); }
EXTRANETS_INLINE Vec divide(Vec a, Vec b) { return vdivq_f32(a, b); }
EXTRANETS_INLINE Vec fma(Vec a, Vec b, Vec c) { return vfmaq_f32(c, a, b); }
EXTRANETS_INLINE Vec maximum(Vec a, Vec b) { return vmaxq_f32(a, b); }
EXTRANETS_INLINE Vec square_root(Vec a) { return vsqrtq_f32(a); }
EXTRANETS_INLINE Vec where_positive(Vec gate, Vec a) {
    return vreinterpretq_f32_u32(vandq_u32(vcgtq_f32(gate, vdupq_n_f32(0)), vreinterpretq_u32_f32(a)));
}
EXTRANETS_INLINE float sum(Vec a) { return vaddvq_f32(a); }

#else
#error "extranets has kernels for x86-64 and 64-bit ARM only"
#endif

EXTRANETS_INLINE Vec zero() { return splat(0.0f); }

// Widths are padded to whole vectors. Padded weights start at zero and have zero gradients, so they stay zero.
EXTRANETS_INLINE int padded(int width) { return (width + kLanes - 1) / kLanes * kLanes; }

}  // namespace EXTRANETS_VARIANT
