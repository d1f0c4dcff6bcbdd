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

DEVICE float add_dot(float sum, float4 a, float4 b) {
    return line(a.w, b.w, line(a.z, b.z, line(a.y, b.y, line(a.x, b.x, sum))));
}

constexpr int kTileRows = 4;

// A (n_rows, depth) times W (depth, width): finish(row, column, sums) for every tile of four rows and four columns. Rows
// behind n_rows are computed from whatever is there, and so are columns behind the width, up to a multiple of four.
template <class Finish>
DEVICE void times_weights(const float* A, int a_stride, const float* W, int w_stride, int depth, int n_rows, int width,
                          const Finish& finish) {
    const int across = (width + 3) / 4, n_tiles = across * ((n_rows + kTileRows - 1) / kTileRows);
    for (int tile = thread_index(); tile < n_tiles; tile += n_threads()) {
        const int row = kTileRows * (tile / across), column = 4 * (tile % across);
        const float *a = A + row * a_stride, *w = W + column;
        float sums[kTileRows][4] = {};
        int k = 0;
        for (; k + 4 <= depth; k += 4, w += 4 * w_stride) {
            const float4 w0 = load4(w), w1 = load4(w + w_stride), w2 = load4(w + 2 * w_stride), w3 = load4(w + 3 * w_stride);
#pragma unroll
            for (int r = 0; r < kTileRows; ++r) {
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
            for (int r = 0; r < kTileRows; ++r) add_scaled(sums[r], a[r * a_stride + k], one);
        }
        finish(row, column, sums);
    }
}

// D (n_rows, width) times the transpose of W (n_units, width): finish(row, unit, sum) for every number of the result. What
// pads the width of D and W to a multiple of four is zero.
template <class Finish>
DEVICE void times_transposed(const float* D, int d_stride, const float* W, int w_stride, int width, int n_rows, int n_units,
                             const Finish& finish) {
    const int across = (n_units + 3) / 4, n_tiles = across * ((n_rows + kTileRows - 1) / kTileRows);
    for (int tile = thread_index(); tile < n_tiles; tile += n_threads()) {
        const int row = kTileRows * (tile / across), first = tile % across;  // a thread's units lie `across` apart
        const float* d = D + row * d_stride;
        const float* w[4];
#pragma unroll
        for (int u = 0; u < 4; ++u) w[u] = W + (first + u * across < n_units ? first + u * across : first) * w_stride;
        float sums[kTileRows][4] = {};
        for (int k = 0; k < width; k += 4) {
            float4 x[4];
#pragma unroll
            for (int u = 0; u < 4; ++u) x[u] = load4(w[u] + k);
#pragma unroll
            for (int r = 0; r < kTileRows; ++r) {
                const float4 one = load4(d + r * d_stride + k);
#pragma unroll
                for (int u = 0; u < 4; ++u) sums[r][u] = add_dot(sums[r][u], one, x[u]);
            }
        }
#pragma unroll
        for (int r = 0; r < kTileRows; ++r)
#pragma unroll
            for (int u = 0; u < 4; ++u)
                if (row + r < n_rows && first + u * across < n_units) finish(row + r, first + u * across, sums[r][u]);
    }
}

constexpr int kTileInputs = 8;

// Gradients of weights: sums over the rows of input * delta, for tiles of kTileInputs inputs and four columns.
// inputs(row, first input, out) gives the tile's inputs of one row. update(first input, inputs in the tile, column) makes
// what is to be told the sums.
template <class Inputs, class Update>
DEVICE void outer_tile(const Inputs& inputs, const float* D, int d_stride, int n_rows, int column, Update update) {
    float sums[kTileInputs][4] = {};
    const float* d = D + column;
#pragma unroll 4
    for (int r = 0; r < n_rows; ++r, d += d_stride) {
        float x[kTileInputs];
        inputs(r, x);
        const float4 one = load4(d);
#pragma unroll
        for (int i = 0; i < kTileInputs; ++i) add_scaled(sums[i], x[i], one);
    }
    update(sums);
}
