// Numeric encodings, as in native/encoding.hpp: by edges, a row costs two multiply-adds per column and unit, and as many on the
// way back.

DEVICE int n_entries(const Encoding& e, int column) { return e.first[column + 1] - e.first[column]; }
DEVICE int first_edge(const Encoding& e, int column) { return e.first[column] + column; }

struct Spot {
    int bin;
    float position, slope;
};

DEVICE Spot find_spot(const Encoding& e, int column, float x) {
    const float* edges = e.numbers + first_edge(e, column);
    const int n_bins = n_entries(e, column);
    int bin = 0, end = n_bins;
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

// Entry k of a column's encoding.
DEVICE float entry_value(const Encoding& e, int column, int k, float x) {
    if (e.kind == kPiecewiseLinear) {
        const Spot spot = find_spot(e, column, x);
        return k < spot.bin ? 1.0f : (k == spot.bin ? spot.position : 0.0f);
    }
    const int half = n_entries(e, column) / 2;
    const float turns = e.numbers[k < half ? k : k - half] * x, rest = 2.0f * (turns - rintf(turns));
    return k < half ? sinpif(rest) : cospif(rest);
}

// values[edge, :] = sum of the weights of the column's bins below the edge.
DEVICE void values_at_edges(const Encoding& e, const float* weights, int stride, int width, float* values) {
    const int across = (width + 3) / 4;
    for (int i = thread_index(); i < e.n_columns * across; i += n_threads()) {
        const int c = i / across, column = 4 * (i % across);
        const float* w = weights + e.first[c] * stride + column;
        float* v = values + first_edge(e, c) * stride + column;
        float4 sum = {0, 0, 0, 0};
        store4(v, sum);
        for (int k = n_entries(e, c); k > 0; --k, w += stride) {
            const float4 one = load4(w);
            sum = {sum.x + one.x, sum.y + one.y, sum.z + one.z, sum.w + one.w};
            v += stride;
            store4(v, sum);
        }
    }
}
