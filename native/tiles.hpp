// The three small matrix products of a dense network, in register tiles.
//
//   dense          C[b, :] = finish(start[:] + sum_k A[b, k] W[k, :])     forward, and backward to the layer below
//   outer_sums     G[k, :] = sum_b A[b, k] D[b, :], handed to a sink      weight gradients (the sink is Adam or a store)
//   dot_rows       C[b, o] = bias[o] + sum_j A[b, j] W[o, j]              the narrow output layer
//
// A tile keeps `rows x vectors` accumulators in registers; one operand comes in whole vectors, the other is broadcast. In
// `dense` and `dot_rows` the order of additions does not depend on the tile, so a row's result does not depend on the rows
// beside it; nor on how wide a vector is, so that predictions are the same bits wherever there are fused multiply-adds.
#pragma once

#include "simd.hpp"

namespace extranets::EXTRANETS_VARIANT {

#if defined(__AVX512F__) || defined(__ARM_NEON)  // 32 registers
constexpr int kPanel = 4;
constexpr int tile_rows(int vectors) { return vectors <= 3 ? 8 : 4; }
#else  // 16 registers
constexpr int kPanel = 3;
constexpr int tile_rows(int vectors) { return vectors == 1 ? 8 : 4; }
#endif

// What `dense` does to a finished vector at offset `at`. `gate` is only read by Gated.
struct Relu {
    static Vec finish(Vec a, const float*, std::ptrdiff_t, Vec) { return maximum(a, zero()); }
};
struct Gated {  // back through a ReLU: pass the scaled gradient where the unit was active
    static Vec finish(Vec a, const float* gate, std::ptrdiff_t at, Vec scale) {
        return gated_product(load(gate + at), a, scale);
    }
};

struct Plain {
    static Vec finish(Vec a, const float*, std::ptrdiff_t, Vec) { return a; }
};

struct DenseArgs {
    const float* A;
    std::ptrdiff_t lda;
    const float* W;
    std::ptrdiff_t ldw;
    const float* start;  // null: zero
    int depth;
    float* C;
    const float* gate;  // same leading dimension as C
    std::ptrdiff_t ldc;
    float scale;
};

template <int R, int V, class Finish>
static inline void dense_tile(const DenseArgs& t, std::ptrdiff_t row, std::ptrdiff_t column) {
    Vec sums[R][V];
    EXTRANETS_UNROLL
    for (int v = 0; v < V; ++v) {
        const Vec first = t.start ? load(t.start + column + v * kLanes) : zero();
        EXTRANETS_UNROLL
        for (int r = 0; r < R; ++r) sums[r][v] = first;
    }
    const float* a = t.A + row * t.lda;
    const float* w = t.W + column;
    for (int k = 0; k < t.depth; ++k, w += t.ldw) {
        Vec weights[V];
        EXTRANETS_UNROLL
        for (int v = 0; v < V; ++v) weights[v] = load(w + v * kLanes);
        EXTRANETS_UNROLL
        for (int r = 0; r < R; ++r) {
            const Vec x = splat(a[r * t.lda + k]);
            EXTRANETS_UNROLL
            for (int v = 0; v < V; ++v) sums[r][v] = fma(x, weights[v], sums[r][v]);
        }
    }
    const Vec scale = splat(t.scale);
    EXTRANETS_UNROLL
    for (int r = 0; r < R; ++r) {
        EXTRANETS_UNROLL
        for (int v = 0; v < V; ++v) {
            const std::ptrdiff_t at = (row + r) * t.ldc + column + v * kLanes;
            store(t.C + at, Finish::finish(sums[r][v], t.gate, at, scale));
        }
    }
}

// Rows in tiles of R, what is left in tiles of R/2, R/4 ... 1.
template <int R, int V, class Finish>
static inline void dense_panel(const DenseArgs& t, std::ptrdiff_t row, std::ptrdiff_t n_rows, std::ptrdiff_t column) {
    for (; row + R <= n_rows; row += R) dense_tile<R, V, Finish>(t, row, column);
    if constexpr (R > 1) {
        if (row < n_rows) dense_panel<R / 2, V, Finish>(t, row, n_rows, column);
    }
}

// Calls visit(column, V) over panels of nearly equal width, V a compile-time constant.
template <int V>
struct Vectors {
    static constexpr int value = V;
};
template <class Visit>
static inline void for_panels(int n_vectors, Visit&& visit) {
    const int n_panels = (n_vectors + kPanel - 1) / kPanel;
    int begin = 0;
    for (int panel = 0; panel < n_panels; ++panel) {
        const int left = n_panels - panel;
        const int width = (n_vectors - begin + left - 1) / left;
        const std::ptrdiff_t column = std::ptrdiff_t(begin) * kLanes;
        switch (width) {
            case 1: visit(column, Vectors<1>{}); break;
            case 2: visit(column, Vectors<2>{}); break;
            case 3: visit(column, Vectors<3>{}); break;
            default: visit(column, Vectors<kPanel>{}); break;
        }
        begin += width;
    }
}

template <class Finish>
static inline void dense(const DenseArgs& t, int n_rows, int n_columns) {
    for_panels(n_columns / kLanes, [&](std::ptrdiff_t column, auto vectors) {
        constexpr int V = decltype(vectors)::value;
        dense_panel<tile_rows(V), V, Finish>(t, 0, n_rows, column);
    });
}

struct OuterArgs {
    const float* A;
    std::ptrdiff_t lda;
    const float* D;
    std::ptrdiff_t ldd;
    int batch;
};

template <int K, int V, class Sink>
static inline void outer_tile(const OuterArgs& t, std::ptrdiff_t k, std::ptrdiff_t column, const Sink& sink) {
    Vec sums[K][V];
    EXTRANETS_UNROLL
    for (int q = 0; q < K; ++q)
        EXTRANETS_UNROLL
        for (int v = 0; v < V; ++v) sums[q][v] = zero();
    const float* a = t.A + k;
    const float* d = t.D + column;
    for (int b = 0; b < t.batch; ++b, a += t.lda, d += t.ldd) {
        Vec delta[V];
        EXTRANETS_UNROLL
        for (int v = 0; v < V; ++v) delta[v] = load(d + v * kLanes);
        EXTRANETS_UNROLL
        for (int q = 0; q < K; ++q) {
            const Vec x = splat(a[q]);
            EXTRANETS_UNROLL
            for (int v = 0; v < V; ++v) sums[q][v] = fma(x, delta[v], sums[q][v]);
        }
    }
    EXTRANETS_UNROLL
    for (int q = 0; q < K; ++q)
        EXTRANETS_UNROLL
        for (int v = 0; v < V; ++v) sink(k + q, column + v * kLanes, sums[q][v]);
}

// A single row of G: few accumulators, so the batch is summed in four chains to hide the latency of the additions.
template <int V, class Sink>
static inline void outer_row(const OuterArgs& t, std::ptrdiff_t k, std::ptrdiff_t column, const Sink& sink) {
    constexpr int kRows = 4;
    Vec sums[kRows][V];
    EXTRANETS_UNROLL
    for (int c = 0; c < kRows; ++c)
        EXTRANETS_UNROLL
        for (int v = 0; v < V; ++v) sums[c][v] = zero();
    const float* a = t.A + k;
    const float* d = t.D + column;
    int b = 0;
    for (; b + kRows <= t.batch; b += kRows, a += kRows * t.lda, d += kRows * t.ldd)
        EXTRANETS_UNROLL
        for (int c = 0; c < kRows; ++c) {
            const Vec x = splat(a[c * t.lda]);
            EXTRANETS_UNROLL
            for (int v = 0; v < V; ++v) sums[c][v] = fma(x, load(d + c * t.ldd + v * kLanes), sums[c][v]);
        }
    for (; b < t.batch; ++b, a += t.lda, d += t.ldd) {
        const Vec x = splat(a[0]);
        EXTRANETS_UNROLL
        for (int v = 0; v < V; ++v) sums[0][v] = fma(x, load(d + v * kLanes), sums[0][v]);
    }
    EXTRANETS_UNROLL
    for (int v = 0; v < V; ++v)
        sink(k, column + v * kLanes, add(add(sums[0][v], sums[1][v]), add(sums[2][v], sums[3][v])));
}

template <int K, int V, class Sink>
static inline void outer_panel(const OuterArgs& t, std::ptrdiff_t k, std::ptrdiff_t n_rows, std::ptrdiff_t column,
                               const Sink& sink) {
    if constexpr (K == 1) {
        for (; k < n_rows; ++k) outer_row<V>(t, k, column, sink);
    } else {
        for (; k + K <= n_rows; k += K) outer_tile<K, V>(t, k, column, sink);
        if (k < n_rows) outer_panel<K / 2, V>(t, k, n_rows, column, sink);
    }
}

// sink(row, column, gradient vector) is called once for every vector of G.
template <class Sink>
static inline void outer_sums(const OuterArgs& t, int n_rows, int n_columns, const Sink& sink) {
    for_panels(n_columns / kLanes, [&](std::ptrdiff_t column, auto vectors) {
        constexpr int V = decltype(vectors)::value;
        outer_panel<tile_rows(V), V>(t, 0, n_rows, column, sink);
    });
}

// The first half of the vectors plus the second half, until one is left.
template <int N>
EXTRANETS_INLINE Vec folded(const Vec (&sums)[N]) {
    if constexpr (N == 1) {
        return sums[0];
    } else {
        Vec half[N / 2];
        EXTRANETS_UNROLL
        for (int i = 0; i < N / 2; ++i) half[i] = add(sums[i], sums[i + N / 2]);
        return folded(half);
    }
}

// The sixteen partial sums of a dot product, in as many vectors as they take: the same numbers are added in the same order
// whatever the width of a vector.
constexpr int kDotLanes = 16;
constexpr int kChains = kDotLanes / kLanes;

template <int R>
static inline void dot_tile(const float* A, std::ptrdiff_t lda, const float* w, float bias, int n_columns, float* C,
                            std::ptrdiff_t ldc) {
    Vec sums[R][kChains];
    EXTRANETS_UNROLL
    for (int r = 0; r < R; ++r)
        EXTRANETS_UNROLL
        for (int c = 0; c < kChains; ++c) sums[r][c] = zero();
    const auto add_chain = [&](int j, int c) {
        const Vec weights = load(w + j + c * kLanes);
        EXTRANETS_UNROLL
        for (int r = 0; r < R; ++r) sums[r][c] = fma(load(A + r * lda + j + c * kLanes), weights, sums[r][c]);
    };
    int j = 0;
    for (; j + kDotLanes <= n_columns; j += kDotLanes)
        EXTRANETS_UNROLL
        for (int c = 0; c < kChains; ++c) add_chain(j, c);
    EXTRANETS_UNROLL
    for (int c = 0; c + 1 < kChains; ++c)
        if (j + c * kLanes < n_columns) add_chain(j, c);
    EXTRANETS_UNROLL
    for (int r = 0; r < R; ++r) C[r * ldc] = bias + sum(folded(sums[r]));
}

// `bias` null: zero.
static inline void dot_rows(const float* A, std::ptrdiff_t lda, const float* W, std::ptrdiff_t ldw, const float* bias,
                            int n_rows, int n_outputs, int n_columns, float* C, std::ptrdiff_t ldc) {
    constexpr int R = 8 / kChains;
    for (int o = 0; o < n_outputs; ++o) {
        const float* w = W + o * ldw;
        const float first = bias ? bias[o] : 0.0f;
        int row = 0;
        for (; row + R <= n_rows; row += R) dot_tile<R>(A + row * lda, lda, w, first, n_columns, C + row * ldc + o, ldc);
        for (; row < n_rows; ++row) dot_tile<1>(A + row * lda, lda, w, first, n_columns, C + row * ldc + o, ldc);
    }
}

// B[j, i] = A[i, j]
static inline void transpose(const float* A, std::ptrdiff_t lda, int n_rows, int n_columns, float* B, std::ptrdiff_t ldb) {
    constexpr int kBlock = 8;
    for (int i = 0; i < n_rows; i += kBlock) {
        const int i_end = i + kBlock < n_rows ? i + kBlock : n_rows;
        for (int j = 0; j < n_columns; ++j)
            for (int q = i; q < i_end; ++q) B[j * ldb + q] = A[q * lda + j];
    }
}

}  // namespace extranets::EXTRANETS_VARIANT
