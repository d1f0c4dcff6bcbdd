// Small matrix products, a tile of the result for each thread. Strides are multiples of four with an odd quotient: loads are
// 16 bytes wide and neighbouring threads hit different banks of shared memory.

DEVICE float4 load4(const float* p) { return *reinterpret_cast<const float4*>(p); }
DEVICE void store4(float* p, float4 x) { *reinterpret_cast<float4*>(p) = x; }

DEVICE void add_scaled(float (&sums)[4], float a, float4 x) {
    sums[0] = line(a, x.x, sums[0]);
    sums[1] = line(a, x.y, sums[1]);
    sums[2] = line(a, x.z, sums[2]);
    sums[3] = line(a, x.w, sums[3]);
}

DEVICE void add_to(float* sums, float a, float4 x) {
    const float4 old = load4(sums);
    store4(sums, {line(a, x.x, old.x), line(a, x.y, old.y), line(a, x.z, old.z), line(a, x.w, old.w)});
}

DEVICE float add_dot(float sum, float4 a, float4 b) {
    return line(a.w, b.w, line(a.z, b.z, line(a.y, b.y, line(a.x, b.x, sum))));
}

// Large tiles read the least of memory; smaller ones are for where most threads would have none.
DEVICE bool enough(int n_tiles) { return 2 * n_tiles >= n_threads(); }

// A (n_rows, depth) times W (depth, width): finish(row, column, sums) for every tile of kRows rows and four columns. Rows
// behind n_rows are computed from whatever is there, and so are columns behind the width, up to a multiple of four.
template <int kRows, class Finish>
DEVICE void times_weights_in(const float* A, int a_stride, const float* W, int w_stride, int depth, int n_rows, int width,
                             const Finish& finish) {
    const int across = (width + 3) / 4, n_tiles = across * ((n_rows + kRows - 1) / kRows);
    for (int tile = thread_index(); tile < n_tiles; tile += n_threads()) {
        const int row = kRows * (tile / across), column = 4 * (tile % across);
        const float *a = A + row * a_stride, *w = W + column;
        float sums[kRows][4] = {};
        int k = 0;
        for (; k + 4 <= depth; k += 4, w += 4 * w_stride) {
            const float4 w0 = load4(w), w1 = load4(w + w_stride), w2 = load4(w + 2 * w_stride), w3 = load4(w + 3 * w_stride);
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                const float4 x = load4(a + r * a_stride + k);
                add_scaled(sums[r], x.x, w0);
                add_scaled(sums[r], x.y, w1);
                add_scaled(sums[r], x.z, w2);
                add_scaled(sums[r], x.w, w3);
            }
        }
        for (; k < depth; ++k, w += w_stride) {
            const float4 one = load4(w);
#pragma unroll
            for (int r = 0; r < kRows; ++r) add_scaled(sums[r], a[r * a_stride + k], one);
        }
        finish(row, column, sums);
    }
}

constexpr int kTileRows = 4;  // at most

template <class Finish>
DEVICE void times_weights(const float* A, int a_stride, const float* W, int w_stride, int depth, int n_rows, int width,
                          const Finish& finish) {
    if (enough((width + 3) / 4 * ((n_rows + kTileRows - 1) / kTileRows)))
        times_weights_in<kTileRows>(A, a_stride, W, w_stride, depth, n_rows, width, finish);
    else if (enough((width + 3) / 4 * ((n_rows + 1) / 2)))
        times_weights_in<2>(A, a_stride, W, w_stride, depth, n_rows, width, finish);
    else
        times_weights_in<1>(A, a_stride, W, w_stride, depth, n_rows, width, finish);
}

// D (n_rows, width) times the transpose of W (n_units, width): finish(row, unit, sum) for every number of the result. What
// pads the width of D and W to a multiple of four is zero.
template <int kRows, class Finish>
DEVICE void times_transposed_in(const float* D, int d_stride, const float* W, int w_stride, int width, int n_rows,
                                int n_units, const Finish& finish) {
    const int across = (n_units + 3) / 4, n_tiles = across * ((n_rows + kRows - 1) / kRows);
    for (int tile = thread_index(); tile < n_tiles; tile += n_threads()) {
        const int row = kRows * (tile / across), first = tile % across;  // a thread's units lie `across` apart
        const float* d = D + row * d_stride;
        const float* w[4];
#pragma unroll
        for (int u = 0; u < 4; ++u) w[u] = W + (first + u * across < n_units ? first + u * across : first) * w_stride;
        float sums[kRows][4] = {};
        for (int k = 0; k < width; k += 4) {
            float4 x[4];
#pragma unroll
            for (int u = 0; u < 4; ++u) x[u] = load4(w[u] + k);
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                const float4 one = load4(d + r * d_stride + k);
#pragma unroll
                for (int u = 0; u < 4; ++u) sums[r][u] = add_dot(sums[r][u], one, x[u]);
            }
        }
#pragma unroll
        for (int r = 0; r < kRows; ++r)
#pragma unroll
            for (int u = 0; u < 4; ++u)
                if (row + r < n_rows && first + u * across < n_units) finish(row + r, first + u * across, sums[r][u]);
    }
}

template <class Finish>
DEVICE void times_transposed(const float* D, int d_stride, const float* W, int w_stride, int width, int n_rows, int n_units,
                             const Finish& finish) {
    if (enough((n_units + 3) / 4 * ((n_rows + kTileRows - 1) / kTileRows)))
        times_transposed_in<kTileRows>(D, d_stride, W, w_stride, width, n_rows, n_units, finish);
    else if (enough((n_units + 3) / 4 * ((n_rows + 1) / 2)))
        times_transposed_in<2>(D, d_stride, W, w_stride, width, n_rows, n_units, finish);
    else
        times_transposed_in<1>(D, d_stride, W, w_stride, width, n_rows, n_units, finish);
}

// Gradients of weights: sums over the rows of input * delta for kInputs inputs and four columns. inputs(row, x) gives the
// tile's inputs of one row.
template <int kInputs, class Inputs>
DEVICE void outer_tile(const Inputs& inputs, const float* D, int d_stride, int n_rows, int column,
                       float (&sums)[kInputs][4]) {
    const float* d = D + column;
#pragma unroll 4
    for (int r = 0; r < n_rows; ++r, d += d_stride) {
        float x[kInputs];
        inputs(r, x);
        const float4 one = load4(d);
#pragma unroll
        for (int i = 0; i < kInputs; ++i) add_scaled(sums[i], x[i], one);
    }
}
