// Standard normal numbers by Box and Muller (1958) from the Philox words; `normals` in src/extranets/_random.py is the readable
// twin. The elementary functions are short polynomials (coefficients of Moshier's Cephes library, errors near one unit in the
// last place) in plain loops, which compilers turn into vectors; calls into the C library would take most of a training step.
#pragma once

#include "philox.hpp"

namespace extranets::EXTRANETS_VARIANT {

EXTRANETS_INLINE int32_t bits_of(float x) {
    int32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
EXTRANETS_INLINE float float_of(int32_t bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

// x must be positive, and not denormal.
EXTRANETS_INLINE float log_of(float x) {
    const int32_t root_half = 0x3f3504f3;  // bits of sqrt(1/2): the mantissa then lies between it and sqrt(2)
    const int32_t exponent = (bits_of(x) - root_half) >> 23;
    const float m = float_of(bits_of(x) - exponent * (1 << 23)) - 1.0f, e = float(exponent);
    float p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    const float square = m * m;
    return (m + (p * m * square - 2.12194440e-4f * e - 0.5f * square)) + 0.693359375f * e;  // ln 2 in two parts
}

// NaN stays NaN; beyond about +-87 the result stays at the ends of the float range.
EXTRANETS_INLINE float exp_of(float x) {
    x = x < -87.0f ? -87.0f : (x > 88.0f ? 88.0f : x);
    const float k = std::floor(x * 1.44269504088896341f + 0.5f);
    const float r = x - k * 0.693359375f + k * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return (p * r * r + r + 1.0f) * float_of(int32_t((uint32_t(int32_t(k)) + 127u) << 23));
}

// Two normal numbers from two words. The angle is first reduced, exactly, to less than an eighth of
// a turn from the nearest axis, and only then multiplied by 2 pi.
EXTRANETS_INLINE void box_muller(uint32_t first, uint32_t second, float* out) {
    const float radius = std::sqrt(-2.0f * log_of(float(int32_t(first >> 8) + 1) * (1.0f / 16777216.0f)));
    const float turns = float(int32_t(second >> 8)) * (1.0f / 16777216.0f);
    const float quarter = std::floor(4.0f * turns + 0.5f);
    const int32_t axis = int32_t(quarter);
    const float a = 6.28318530717958648f * (turns - 0.25f * quarter), square = a * a;
    const float s = ((-1.9515295891e-4f * square + 8.3321608736e-3f) * square - 1.6666654611e-1f) * square * a + a;
    const float c = ((2.443315711809948e-5f * square - 1.388731625493765e-3f) * square + 4.166664568298827e-2f) * square *
                        square - 0.5f * square + 1.0f;
    const float cosine = axis & 1 ? s : c, sine = axis & 1 ? c : s;
    out[0] = radius * ((axis + 1) & 2 ? -cosine : cosine);
    out[1] = radius * (axis & 2 ? -sine : sine);
}

// How many floats draw_normals writes: n, rounded up to whole fills.
EXTRANETS_INLINE int64_t normals_room(int64_t n) { return (n + kWordsPerFill - 1) / kWordsPerFill * kWordsPerFill; }

static inline void draw_normals(const Stream& stream, int64_t n, float* out) {
    uint32_t words[kWordsPerFill];
    uint32_t block = 0;
    for (int64_t at = 0; at < n; at += kWordsPerFill, block += kBlocks) {
        philox_fill(stream, block, words);
        for (int i = 0; i < kWordsPerFill; i += 2) box_muller(words[i], words[i + 1], out + at + i);
    }
}

}  // namespace extranets::EXTRANETS_VARIANT
