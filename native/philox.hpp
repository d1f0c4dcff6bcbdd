// Philox4x32-10 (Salmon et al., 2011): random words as a pure function of (seed, member, purpose, attempt, part, position).
//
// `src/extranets/_random.py` is the readable twin; tests compare both with the published known answers.
#pragma once

#include "contract.hpp"
#include "simd.hpp"

namespace extranets::EXTRANETS_VARIANT {

struct Stream {
    uint32_t key[2];
    uint32_t part;     // epoch, step or pass: whichever the purpose has
    uint32_t purpose;  // purpose + 256 * attempt
    uint32_t member;
};

EXTRANETS_INLINE Stream make_stream(uint64_t seed, uint32_t member, Purpose purpose, uint32_t attempt, uint32_t part) {
    return {{uint32_t(seed), uint32_t(seed >> 32)}, part, uint32_t(purpose) + 256u * attempt, member};
}

constexpr int kWideLanes = kLanes / 2;
constexpr int kGroups = 2;  // vectors of blocks in flight, to hide the multiplier's latency
constexpr int kBlocks = kGroups * kWideLanes;
constexpr int kWordsPerFill = 4 * kBlocks;

// Words first_block*4 ... first_block*4 + kWordsPerFill - 1 of the stream. A lane holds one block; only the lower half of each
// 64-bit lane counts, the multiplications ignore the rest.
static inline void philox_fill(const Stream& stream, uint32_t first_block, uint32_t* words) {
    uint64_t index[kBlocks];
    for (int i = 0; i < kBlocks; ++i) index[i] = first_block + uint32_t(i);
    Wide a[kGroups], b[kGroups], c[kGroups], d[kGroups];
    for (int g = 0; g < kGroups; ++g) {
        a[g] = wide_load(index + g * kWideLanes);
        b[g] = wide_splat(stream.part);
        c[g] = wide_splat(stream.purpose);
        d[g] = wide_splat(stream.member);
    }
    const Wide first = wide_splat(0xD2511F53u), second = wide_splat(0xCD9E8D57u);
    uint32_t k0 = stream.key[0], k1 = stream.key[1];
    for (int round = 0; round < 10; ++round) {
        const Wide key0 = wide_splat(k0), key1 = wide_splat(k1);
        for (int g = 0; g < kGroups; ++g) {
            const Wide p = multiply_low(a[g], first), q = multiply_low(c[g], second);
            a[g] = exclusive_or(exclusive_or(upper_half(q), b[g]), key0);
            b[g] = q;
            c[g] = exclusive_or(exclusive_or(upper_half(p), d[g]), key1);
            d[g] = p;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    uint64_t lanes[4][kBlocks];
    for (int g = 0; g < kGroups; ++g) {
        wide_store(lanes[0] + g * kWideLanes, a[g]);
        wide_store(lanes[1] + g * kWideLanes, b[g]);
        wide_store(lanes[2] + g * kWideLanes, c[g]);
        wide_store(lanes[3] + g * kWideLanes, d[g]);
    }
    for (int i = 0; i < kBlocks; ++i)
        for (int w = 0; w < 4; ++w) words[4 * i + w] = uint32_t(lanes[w][i]);
}

// Reads a stream word by word.
struct Words {
    Stream stream;
    uint32_t block = 0;
    int used = kWordsPerFill;
    uint32_t buffer[kWordsPerFill];

    explicit Words(const Stream& s) : stream(s) {}

    uint32_t next() {
        if (used == kWordsPerFill) {
            philox_fill(stream, block, buffer);
            block += kBlocks;
            used = 0;
        }
        return buffer[used++];
    }
    // Uniform on [0, 1) with 24 bits: exact in float32 and float64 alike.
    float uniform() { return float(next() >> 8) * (1.0f / 16777216.0f); }
};

// Fisher-Yates, from the last place down. Words are drawn a whole fill at a time, so that not every word needs a test.
static inline void shuffle(uint32_t* rows, int64_t n, const Stream& stream) {
    uint32_t words[kWordsPerFill];
    uint32_t block = 0;
    for (int64_t i = n - 1; i > 0; block += kBlocks) {
        philox_fill(stream, block, words);
        const int64_t last = i > kWordsPerFill ? i - kWordsPerFill : 0;
        for (const uint32_t* word = words; i > last; --i, ++word) {
            const int64_t j = int64_t((uint64_t(*word) * uint64_t(i + 1)) >> 32);
            const uint32_t held = rows[i];
            rows[i] = rows[j];
            rows[j] = held;
        }
    }
}

}  // namespace extranets::EXTRANETS_VARIANT
