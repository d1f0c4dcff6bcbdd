// Numeric encodings: what the first layer reads besides the table's own columns.
//
// The entries of a piecewise-linear encoding are 1 in all bins below that of x, its position within its own bin, and 0 above.
// Their weighted sum is therefore the straight line between two numbers, the sums of the weights below the two edges that
// enclose x. With those sums at hand (values_at_edges) a row costs two multiply-adds per column and unit, whatever the number
// of bins, and the way back (edge_gradients) is the same in reverse. No row is ever spread over its bins.
//
// Other encodings, and networks without hidden layers, spread a mini-batch's rows (spread) and go on as with any input.
#pragma once

#include "contract.hpp"
#include "tiles.hpp"

namespace EXTRANETS_VARIANT {

EXTRANETS_INLINE int n_entries(const Encoding& e, int column) { return e.first[column + 1] - e.first[column]; }

// A column has one edge more than bins.
EXTRANETS_INLINE int first_edge(const Encoding& e, int column) { return e.first[column] + column; }
EXTRANETS_INLINE int n_edges(const Encoding& e) { return e.n_entries + e.n_columns; }

// Where x lies among a column's edges. `slope` is the derivative of the position: 0 outside of all bins.
struct Spot {
    int bin;
    float position, slope;
};

static inline Spot find_spot(const Encoding& e, int column, float x) {
    const float* edges = e.numbers + first_edge(e, column);
    const int n_bins = n_entries(e, column);
    int bin = 0, end = n_bins;  // edges[bin] <= x < edges[end], unless x lies outside
    while (end - bin > 1) {
        const int middle = (bin + end) / 2;
        if (edges[middle] <= x)
            bin = middle;
        else
            end = middle;
    }
    const float width = edges[bin + 1] - edges[bin], position = (x - edges[bin]) / width;
    const bool outside = x < edges[0] || x > edges[n_bins];
    return {bin, position < 0.0f ? 0.0f : (position > 1.0f ? 1.0f : position), outside ? 0.0f : 1.0f / width};
}

// sin and cos of 2 pi f x for n frequencies. The polynomials, in the square of what is left of a turn, are right to 5e-7.
static inline void waves(const float* frequencies, int n, float x, float* sine, float* cosine) {
    for (int j = 0; j < n; ++j) {
        const float turns = frequencies[j] * x, rest = turns - __builtin_rintf(turns), z = rest * rest;
        float s = 3.23813772f, c = 6.52865887f;
        s = s * z - 14.8998480f, c = c * z - 25.9676018f;
        s = s * z + 42.0259285f, c = c * z + 60.1676331f;
        s = s * z - 76.7030182f, c = c * z - 85.4501419f;
        s = s * z + 81.6051331f, c = c * z + 64.9391174f;
        s = s * z - 41.3417015f, c = c * z - 19.7392044f;
        sine[j] = (s * z + 6.28318548f) * rest, cosine[j] = c * z + 1.0f;
    }
}

// All entries of one row of the table.
static inline void spread(const Encoding& e, const float* row, float* entries) {
    for (int c = 0; c < e.n_columns; ++c) {
        const float x = row[e.columns[c]];
        float* to = entries + e.first[c];
        const int n = n_entries(e, c);
        if (e.kind == EncodingKind::periodic) {
            waves(e.numbers, n / 2, x, to, to + n / 2);
            continue;
        }
        const Spot spot = find_spot(e, c, x);
        for (int k = 0; k < n; ++k) to[k] = k < spot.bin ? 1.0f : (k == spot.bin ? spot.position : 0.0f);
    }
}

// Derivative with respect to a column's value, from those with respect to its entries; `entries` are the entries' own values.
static inline float column_slope(const Encoding& e, int column, float x, const float* gradient, const float* entries) {
    if (e.kind == EncodingKind::piecewise_linear) {
        const Spot spot = find_spot(e, column, x);
        return gradient[spot.bin] * spot.slope;
    }
    const int n = n_entries(e, column) / 2;
    float slope = 0;
    for (int j = 0; j < n; ++j)
        slope += e.numbers[j] * (gradient[j] * entries[n + j] - gradient[n + j] * entries[j]);
    return 6.28318531f * slope;
}

// Rows by the edges that enclose them. Shape of the arrays: (rows, encoded columns).
struct Places {
    int n_columns;
    int32_t* edge;  // the edge below, counted over all columns
    float* below;  // how much the value at that edge counts,
    float* above;  // and the value at the next

    void put(int64_t row, int column, int edge_below, float position) const {
        const int64_t at = row * n_columns + column;
        edge[at] = edge_below;
        below[at] = 1.0f - position;
        above[at] = position;
    }
    void scale(int64_t row, int column, float factor) const {
        below[row * n_columns + column] *= factor;
        above[row * n_columns + column] *= factor;
    }
};

// values[edge, :] = sum of the weights of the column's bins below the edge. `weights` begins with those of the first bin; both
// have rows of `width` numbers, a whole number of vectors.
static inline void values_at_edges(const Encoding& e, const float* weights, std::ptrdiff_t width, float* values) {
    for (int c = 0; c < e.n_columns; ++c) {
        for (std::ptrdiff_t j = 0; j < width; j += kLanes) store(values + j, zero());
        for (int k = n_entries(e, c); k > 0; --k, values += width, weights += width)
            for (std::ptrdiff_t j = 0; j < width; j += kLanes)
                store(values + width + j, add(load(values + j), load(weights + j)));
        values += width;
    }
}

// C[row, :] = max(0, C[row, :] + what the encoded columns give)
static inline void add_between_edges(const Places& places, const float* values, std::ptrdiff_t width, int n_rows, float* C) {
    for_panels(int(width / kLanes), [&](std::ptrdiff_t column, auto vectors) {
        constexpr int V = decltype(vectors)::value;
        std::ptrdiff_t at = 0;
        for (int row = 0; row < n_rows; ++row) {
            float* to = C + row * width + column;
            Vec sums[V];
            EXTRANETS_UNROLL
            for (int v = 0; v < V; ++v) sums[v] = load(to + v * kLanes);
            for (int c = 0; c < places.n_columns; ++c, ++at) {
                const float* value = values + places.edge[at] * width + column;
                const Vec below = splat(places.below[at]), above = splat(places.above[at]);
                EXTRANETS_UNROLL
                for (int v = 0; v < V; ++v) {
                    const Vec line = fma(below, load(value + v * kLanes), mul(above, load(value + width + v * kLanes)));
                    sums[v] = add(sums[v], line);
                }
            }
            EXTRANETS_UNROLL
            for (int v = 0; v < V; ++v) store(to + v * kLanes, maximum(sums[v], zero()));
        }
    });
}

// Room that edge_gradients needs: the gradients at one column's edges.
static inline int64_t edge_room(const Encoding& e) {
    int most = 0;
    for (int c = 0; c < e.n_columns; ++c) most = n_entries(e, c) > most ? n_entries(e, c) : most;
    return int64_t(most + 1) * kPanel * kLanes;
}

// Calls sink(entry, column, gradient vector) once for every vector of the bins' weight gradients. A row adds to the gradients
// at two edges; a bin's weight is part of the values at all edges above it.
template <class Sink>
static inline void edge_gradients(const Encoding& e, const Places& places, const float* delta, std::ptrdiff_t width,
                                  int n_rows, float* room, const Sink& sink) {
    for_panels(int(width / kLanes), [&](std::ptrdiff_t column, auto vectors) {
        constexpr int V = decltype(vectors)::value;
        constexpr std::ptrdiff_t kWidth = V * kLanes;
        for (int c = 0; c < e.n_columns; ++c) {
            const int n_bins = n_entries(e, c), first = first_edge(e, c);
            for (std::ptrdiff_t j = 0; j < (n_bins + 1) * kWidth; j += kLanes) store(room + j, zero());
            std::ptrdiff_t at = c;
            for (int row = 0; row < n_rows; ++row, at += places.n_columns) {
                const float* d = delta + row * width + column;
                float* to = room + (places.edge[at] - first) * kWidth;
                const Vec below = splat(places.below[at]), above = splat(places.above[at]);
                EXTRANETS_UNROLL
                for (int v = 0; v < V; ++v) {
                    const Vec one = load(d + v * kLanes);
                    store(to + v * kLanes, fma(below, one, load(to + v * kLanes)));
                    store(to + kWidth + v * kLanes, fma(above, one, load(to + kWidth + v * kLanes)));
                }
            }
            Vec sums[V];
            EXTRANETS_UNROLL
            for (int v = 0; v < V; ++v) sums[v] = zero();
            for (int k = n_bins - 1; k >= 0; --k)
                EXTRANETS_UNROLL
                for (int v = 0; v < V; ++v) {
                    sums[v] = add(sums[v], load(room + (k + 1) * kWidth + v * kLanes));
                    sink(e.first[c] + k, column + v * kLanes, sums[v]);
                }
        }
    });
}

}  // namespace EXTRANETS_VARIANT
