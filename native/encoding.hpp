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

namespace extranets::EXTRANETS_VARIANT {

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

// sin and cos of 2 pi f x for n frequencies f. Whole turns are taken away, and what is left goes into polynomials whose error
// is below 5e-7.
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

// Which edges enclose the value of each row in each encoded column. Shape of the arrays: (rows, encoded columns).
struct Places {
    int n_columns;
    int32_t* edge;  // the edge below, counted over all columns
    float* below;  // how much the number at that edge counts
    float* above;  // how much the number at the next edge counts

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

// C[row, :] = max(0, C[row, :] + what the encoded columns give). Arguments are passed by value: for all that the compiler
// knows, a store into C could change what a reference leads to.
template <int V>
static inline void add_panel(const Places places, const float* values, const std::ptrdiff_t width, const int n_rows, float* C) {
    const int32_t* edge = places.edge;
    const float *below = places.below, *above = places.above;
    for (int row = 0; row < n_rows; ++row, C += width) {
        Vec sums[V];
        EXTRANETS_UNROLL
        for (int v = 0; v < V; ++v) sums[v] = load(C + v * kLanes);
        for (int c = 0; c < places.n_columns; ++c) {
            const float* value = values + edge[c] * width;
            const Vec low = splat(below[c]), high = splat(above[c]);
            EXTRANETS_UNROLL
            for (int v = 0; v < V; ++v) {
                const Vec line = fma(low, load(value + v * kLanes), mul(high, load(value + width + v * kLanes)));
                sums[v] = add(sums[v], line);
            }
        }
        EXTRANETS_UNROLL
        for (int v = 0; v < V; ++v) store(C + v * kLanes, maximum(sums[v], zero()));
        edge += places.n_columns, below += places.n_columns, above += places.n_columns;
    }
}

static inline void add_between_edges(const Places& places, const float* values, std::ptrdiff_t width, int n_rows, float* C) {
    for_panels(int(width / kLanes), [&](std::ptrdiff_t column, auto vectors) {
        add_panel<decltype(vectors)::value>(places, values + column, width, n_rows, C + column);
    });
}

// The rows of a batch that lie in each bin of one column, as linked lists: no row is moved, and sums over a bin's rows stay in
// registers.
struct RowsByBin {
    int32_t head[kMostBins];  // a bin's first row, -1: none
    int32_t* next;  // (rows): the next row of the same bin

    RowsByBin(const Encoding& e, int column, const Places& places, int n_rows, int32_t* memory) : next(memory) {
        const int32_t* edge = places.edge + column;
        const int n_columns = places.n_columns, first = first_edge(e, column);
        for (int k = 0; k < n_entries(e, column); ++k) head[k] = -1;
        for (int row = 0; row < n_rows; ++row, edge += n_columns) {
            const int bin = *edge - first;
            memory[row] = head[bin];
            head[bin] = row;
        }
    }
};

// Weight gradients of one column's bins, beginning with the highest bin. A bin's weight is part of the value at every edge
// above the bin. So the rows in higher bins count in full, and the rows in the bin itself count by their position.
template <int V, class Sink>
static inline void bin_gradients(const RowsByBin& rows, int n_bins, const Places places, const int column,
                                 const float* delta, const std::ptrdiff_t width, const Sink sink) {
    const float *below = places.below + column, *above = places.above + column;
    Vec higher[V];
    EXTRANETS_UNROLL
    for (int v = 0; v < V; ++v) higher[v] = zero();
    for (int k = n_bins - 1; k >= 0; --k) {
        Vec sums[V];
        EXTRANETS_UNROLL
        for (int v = 0; v < V; ++v) sums[v] = higher[v];
        for (int row = rows.head[k]; row >= 0; row = rows.next[row]) {
            const std::ptrdiff_t at = std::ptrdiff_t(row) * places.n_columns;
            const Vec part = splat(above[at]), whole = splat(below[at] + above[at]);
            const float* d = delta + row * width;
            EXTRANETS_UNROLL
            for (int v = 0; v < V; ++v) {
                const Vec one = load(d + v * kLanes);
                sums[v] = fma(part, one, sums[v]);
                higher[v] = fma(whole, one, higher[v]);
            }
        }
        EXTRANETS_UNROLL
        for (int v = 0; v < V; ++v) sink(k, v * kLanes, sums[v]);
    }
}

// Calls sink(entry, column, gradient vector) once for every vector of the bins' weight gradients. `next` has room for n_rows.
template <class Sink>
static inline void edge_gradients(const Encoding& e, const Places& places, const float* delta, std::ptrdiff_t width,
                                  int n_rows, int32_t* next, const Sink sink) {
    for (int c = 0; c < e.n_columns; ++c) {
        const RowsByBin rows(e, c, places, n_rows, next);
        for_panels(int(width / kLanes), [&](std::ptrdiff_t column, auto vectors) {
            bin_gradients<decltype(vectors)::value>(
                rows, n_entries(e, c), places, c, delta + column, width,
                [sink, first = e.first[c], column](int bin, std::ptrdiff_t v, Vec g) { sink(first + bin, column + v, g); });
        });
    }
}

}  // namespace extranets::EXTRANETS_VARIANT
