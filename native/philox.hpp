// Philox4x32-10 (Salmon et al., 2011): random words as a pure function of (seed, member, purpose, attempt, part, position).
//
// `src/extranets/_random.py` is the readable twin; tests compare both with the published known answers.
#pragma once

#include "contract.hpp"
#include "simd.hpp"

namespace EXTRANETS_VARIANT {

struct Stream {
    uint32_t key[2];
    uint32_t part;     // epoch, step or pass: whatever divides one purpose
    uint32_t purpose;  // purpose + 256 * attempt
    uint32_t member;
};

EXTRANETS_INLINE Stream make_stream(uint64_t seed, uint32_t member, Purpose purpose, uint32_t attempt, uint32_t part) {
    return {{uint32_t(seed), uint32_t(seed >> 32)}, part, uint32_t(purpose) + 256u * attempt, member};
}

constexpr int kBlocks = 16;  // blocks computed side by side, so that the compiler can use its widest integers
constexpr int kWordsPerFill = 4 * kBlocks;

// Words first_block*4 ... first_block*4 + 63 of the stream.
static inline void philox_fill(const Stream& stream, uint32_t first_block, uint32_t* words) {
    uint32_t a[kBlocks], b[kBlocks], c[kBlocks], d[kBlocks];
    for (int i = 0; i < kBlocks; ++i) {
        a[i] = first_block + uint32_t(i);
        b[i] = stream.part;
        c[i] = stream.purpose;
        d[i] = stream.member;
    }
    uint32_t k0 = stream.key[0], k1 = stream.key[1];
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < kBlocks; ++i) {
            const uint64_t p = uint64_t(a[i]) * 0xD2511F53u;
            const uint64_t q = uint64_t(c[i]) * 0xCD9E8D57u;
            const uint32_t b_old = b[i], d_old = d[i];
            a[i] = uint32_t(q >> 32) ^ b_old ^ k0;
            b[i] = uint32_t(q);
            c[i] = uint32_t(p >> 32) ^ d_old ^ k1;
            d[i] = uint32_t(p);
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < kBlocks; ++i) {
        words[4 * i] = a[i];
        words[4 * i + 1] = b[i];
        words[4 * i + 2] = c[i];
        words[4 * i + 3] = d[i];
    }
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

// Fisher-Yates, from the last place down.
static inline void shuffle(uint32_t* rows, int64_t n, const Stream& stream) {
    Words words(stream);
    for (int64_t i = n - 1; i > 0; --i) {
        const int64_t j = int64_t((uint64_t(words.next()) * uint64_t(i + 1)) >> 32);
        const uint32_t held = rows[i];
        rows[i] = rows[j];
        rows[j] = held;
    }
}

}  // namespace EXTRANETS_VARIANT
