// One member: its forward and backward passes over the rows in its workspace.

// Multiplies inputs and hidden units: inverted dropout, one word for each unit, and each row unless all rows share a mask.
struct Dropout {
    Stream stream;
    float input_keep, hidden_keep;
    bool by_row;

    DEVICE float factor(float keep, long long index) const { return random_uniform(stream, index) < keep ? 1.0f / keep : 0.0f; }
    DEVICE long long words(float keep, int n_rows, int width) const {
        return keep < 1.0f ? static_cast<long long>(by_row ? n_rows : 1) * width : 0;
    }
    DEVICE long long word(long long begin, int row, int width, int unit) const {
        return begin + (by_row ? static_cast<long long>(row) * width : 0) + unit;
    }
};

DEVICE Dropout no_dropout() { return {{0, 0, 0, 0, 0}, 1.0f, 1.0f, false}; }

struct Network {
    const Problem& problem;
    const int* widths;  // of the hidden layers
    float *parameters, *values;
    float* memory;  // the workspace
    float* input;  // activation 0

    DEVICE const Place& place(int l) const { return problem.places[l]; }
    DEVICE bool is_output(int l) const { return l == problem.n_layers() - 1; }
    // Inputs that layer l finds in its activation.
    DEVICE int depth(int l) const {
        return l > 0 ? widths[l - 1] : problem.n_inputs + (problem.by_edges() ? 0 : problem.encoding.n_entries);
    }
    DEVICE int width(int l) const { return is_output(l) ? problem.n_heads() : widths[l]; }
    DEVICE float* activation(int l) const { return l == 0 ? input : memory + place(l).activation; }
    DEVICE float* delta(int l) const { return memory + place(l).delta; }
    DEVICE int delta_stride(int l) const { return place(l - 1).stride; }
    DEVICE float* heads() const { return memory + problem.at.heads; }
    DEVICE float* delta_heads() const { return memory + problem.at.delta_heads; }
    DEVICE int* edge() const { return reinterpret_cast<int*>(memory + problem.at.edge); }
    DEVICE float* below() const { return memory + problem.at.below; }
    DEVICE float* above() const { return memory + problem.at.above; }
    // The first layer's weights of the entries that are not written out, in the block.
    DEVICE int entry_weights() const { return place(0).weights + (problem.n_inputs + 1) * place(0).stride; }

    // What never changes while a workspace is used: ones behind the units, zeros behind the deltas.
    DEVICE void prepare(int n_rows) const {
        for (int l = 1; l < problem.n_layers(); ++l) {
            const int n = widths[l - 1], padded = (n + 3) / 4 * 4;
            for (int r = thread_index(); r < n_rows; r += n_threads()) {
                activation(l)[r * place(l).activation_stride + n] = 1.0f;
                if (problem.at.delta_heads >= 0)
                    for (int j = n; j < padded; ++j) delta(l)[r * delta_stride(l) + j] = 0.0f;
            }
        }
    }

    // Encodes rows [begin, end) of the input.
    DEVICE void encode(int begin, int end) const {
        const Encoding& e = problem.encoding;
        const int stride = place(0).activation_stride, n = problem.by_edges() ? e.n_columns : e.n_entries + 1;
        for_each(end - begin, n, [&](int r, int at) {
            float* x = input + (begin + r) * stride;
            if (problem.by_edges()) {
                const Spot spot = find_spot(e, at, x[e.columns[at]]);
                const int i = (begin + r) * n + at;
                edge()[i] = first_edge(e, at) + spot.bin;
                below()[i] = 1.0f - spot.position;
                above()[i] = spot.position;
            } else if (at == e.n_entries) {
                x[problem.n_inputs + at] = 1.0f;
            } else {
                const int c = column_of_entry(at);
                x[problem.n_inputs + at] = entry_value(e, c, at - e.first[c], x[e.columns[c]]);
            }
        });
    }

    DEVICE int column_of_entry(int entry) const {
        int c = 0, end = problem.encoding.n_columns;
        while (end - c > 1) {
            const int middle = (c + end) / 2;
            if (problem.encoding.first[middle] <= entry)
                c = middle;
            else
                end = middle;
        }
        return c;
    }

    // A column of the table goes together with its encoding.
    DEVICE void drop_inputs(const Dropout& dropout, int n_rows) const {
        const Encoding& e = problem.encoding;
        const int stride = place(0).activation_stride, n = problem.n_inputs;
        for_each(n_rows, n, [&](int row, int k) {
            input[row * stride + k] *= dropout.factor(dropout.input_keep, dropout.word(0, row, n, k));
        });
        const int n_more = problem.by_edges() ? e.n_columns : e.n_entries;
        for_each(n_rows, n_more, [&](int row, int at) {
            const int c = problem.by_edges() ? at : column_of_entry(at);
            const float factor = dropout.factor(dropout.input_keep, dropout.word(0, row, n, e.columns[c]));
            if (problem.by_edges()) {
                below()[row * n_more + at] *= factor;
                above()[row * n_more + at] *= factor;
            } else {
                input[row * stride + n + at] *= factor;
            }
        });
    }

    // What the encoded columns give to a tile of the first layer's sums.
    template <int kRows>
    DEVICE void add_between_edges(int row, int column, int n_rows, float (&sums)[kRows][4]) const {
        const int n = problem.encoding.n_columns, stride = place(0).stride;
        for (int c = 0; c < n; ++c) {
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                const int at = (row + r < n_rows ? row + r : row) * n + c;  // rows behind the last have no edges
                const float* value = values + edge()[at] * stride + column;
                add_scaled(sums[r], below()[at], load4(value));
                add_scaled(sums[r], above()[at], load4(value + stride));
            }
        }
    }

    // A tile of a hidden layer: the ReLU, through which NaN passes, and dropout.
    template <int kRows>
    DEVICE void put_units(int row, int column, int n_rows, int width, const Dropout& dropout, long long begin,
                          float (&sums)[kRows][4], float* to, int stride) const {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            if (row + r >= n_rows) return;
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                sums[r][j] = sums[r][j] <= 0.0f ? 0.0f : sums[r][j];
                if (dropout.hidden_keep < 1.0f)
                    sums[r][j] *= dropout.factor(dropout.hidden_keep, dropout.word(begin, row + r, width, column + j));
            }
            float* units = to + (row + r) * stride + column;
            if (column + 4 <= width)
                store4(units, {sums[r][0], sums[r][1], sums[r][2], sums[r][3]});
            else  // a one stands behind the last unit
#pragma unroll
                for (int j = 0; j < 3; ++j)
                    if (column + j < width) units[j] = sums[r][j];
        }
    }

    // The activations of all layers, then the heads: finish(first row, rows) is told by a whole warp when it has the heads of
    // some rows. Ends without a barrier.
    template <class Finish>
    DEVICE void forward(int n_rows, const Dropout& dropout, const Finish& finish) const {
        if (dropout.input_keep < 1.0f) {
            drop_inputs(dropout, n_rows);
            barrier();
        }
        long long begin = dropout.words(dropout.input_keep, n_rows, problem.n_inputs);
#pragma unroll kUnrolledLayers
        for (int l = 0; l < problem.n_layers() - 1; ++l) {
            const Place& p = place(l);
            const int width = widths[l], stride = place(l + 1).activation_stride;
            float* next = activation(l + 1);
            const bool encoded = l == 0 && problem.by_edges();
            times_weights(activation(l), p.activation_stride, parameters + p.weights, p.stride, depth(l) + 1, n_rows, width,
                          [&](int row, int column, auto& sums) {
                              if (encoded) add_between_edges(row, column, n_rows, sums);
                              put_units(row, column, n_rows, width, dropout, begin, sums, next, stride);
                          });
            begin += dropout.words(dropout.hidden_keep, n_rows, width);
            barrier();
        }
        put_heads(n_rows, finish);
    }

    static constexpr int kHeadRows = 4;  // that a warp takes at once

    template <class Finish>
    DEVICE void put_heads(int n_rows, const Finish& finish) const {
        const int last = problem.n_layers() - 1, n = depth(last) + 1, n_heads = problem.n_heads();
        const int stride = place(last).activation_stride, w_stride = place(last).stride, lane = thread_index() % kWarp;
        const float *a = activation(last), *weights = parameters + place(last).weights;
        for (int row = kHeadRows * (thread_index() / kWarp); row < n_rows; row += kHeadRows * (n_threads() / kWarp)) {
            const int n_own = n_rows - row < kHeadRows ? n_rows - row : kHeadRows;
            for (int h = 0; h < n_heads; ++h) {
                const float* w = weights + h * w_stride;
                float sums[kHeadRows] = {};
                for (int k = lane; k < n; k += kWarp)
#pragma unroll
                    for (int r = 0; r < kHeadRows; ++r) sums[r] = line(a[(row + r) * stride + k], w[k], sums[r]);
#pragma unroll
                for (int r = 0; r < kHeadRows; ++r) {
                    const float sum = warp_sum(sums[r]);
                    if (lane == 0 && r < n_own) heads()[(row + r) * n_heads + h] = sum;
                }
            }
            warp_barrier();
            finish(row, n_own);
        }
    }

    // delta(last) of rows [begin, begin + n_rows), at most kHeadRows of them, by the warp that knows their heads' deltas.
    // `scale` is 1/keep under inverted dropout: a dropped unit has activation 0, so the gate of the ReLU stops its gradient
    // too.
    DEVICE void backward_heads(int begin, int n_rows, float scale) const {
        const int last = problem.n_layers() - 1, n = depth(last), n_heads = problem.n_heads();
        if (last == 0) return;
        const int stride = place(last).stride, a_stride = place(last).activation_stride, to_stride = delta_stride(last);
        const float *w = parameters + place(last).weights, *d = delta_heads() + begin * n_heads;
        const float* a = activation(last) + begin * a_stride;
        float* to = delta(last) + begin * to_stride;
        for (int k = thread_index() % kWarp; k < n; k += kWarp) {
            float sums[kHeadRows] = {};
            for (int h = 0; h < n_heads; ++h)
#pragma unroll
                for (int r = 0; r < kHeadRows; ++r)
                    if (r < n_rows) sums[r] = line(d[r * n_heads + h], w[h * stride + k], sums[r]);
#pragma unroll
            for (int r = 0; r < kHeadRows; ++r)
                if (r < n_rows) to[r * to_stride + k] = a[r * a_stride + k] > 0.0f ? sums[r] * scale : 0.0f;
        }
    }

    // delta(l) from delta(l + 1), for l >= 1 below the output layer.
    DEVICE void backward_to(int l, int n_rows, float scale) const {
        const float* a = activation(l);
        const int a_stride = place(l).activation_stride, stride = delta_stride(l);
        float* to = delta(l);
        times_transposed(delta(l + 1), delta_stride(l + 1), parameters + place(l).weights, place(l).stride, widths[l], n_rows,
                         depth(l), [&](int row, int unit, float sum) {
                             to[row * stride + unit] = a[row * a_stride + unit] > 0.0f ? sum * scale : 0.0f;
                         });
    }

    // Gradients of layer l's parameters: sink.one(offset, gradient, is weight), or four of them,
    // announced by sink.expect(offset).
    template <class Sink>
    DEVICE void layer_gradient(int l, int n_rows, Sink& sink) const {
        if (is_output(l)) return head_gradient(n_rows, sink);
        const int across = (widths[l] + 3) / 4, n = depth(l) + 1;
        if (enough(across * ((n + 7) / 8)))
            dense_gradient<8>(l, n_rows, sink);
        else if (enough(across * ((n + 3) / 4)))
            dense_gradient<4>(l, n_rows, sink);
        else
            dense_gradient<1>(l, n_rows, sink);
        if (l == 0 && problem.by_edges()) entry_gradient(n_rows, sink);
    }

    template <int kInputs, class Sink>
    DEVICE void dense_gradient(int l, int n_rows, Sink& sink) const {
        const float *a = activation(l), *d = delta(l + 1);
        const int a_stride = place(l).activation_stride, d_stride = delta_stride(l + 1), stride = place(l).stride;
        const int weights = place(l).weights, n = depth(l), across = (widths[l] + 3) / 4;
        const int n_tiles = across * ((n + kInputs) / kInputs);
        for (int tile = thread_index(); tile < n_tiles; tile += n_threads()) {
            const int first = kInputs * (tile / across), column = 4 * (tile % across);
            float sums[kInputs][4] = {};
            const auto inputs = [&](int r, float (&x)[kInputs]) {
                const float* from = a + r * a_stride + first;
                if (kInputs == 1) x[0] = from[0];
#pragma unroll
                for (int i = 0; i + 4 <= kInputs; i += 4) {
                    const float4 four = load4(from + i);
                    x[i] = four.x, x[i + 1] = four.y, x[i + 2] = four.z, x[i + 3] = four.w;
                }
            };
#pragma unroll
            for (int i = 0; i < kInputs; ++i)
                if (first + i <= n) sink.expect(weights + (first + i) * stride + column);
            outer_tile(inputs, d, d_stride, n_rows, column, sums);
#pragma unroll
            for (int i = 0; i < kInputs; ++i)
                if (first + i <= n) sink.four(weights + (first + i) * stride + column, sums[i], first + i < n);
        }
    }

    // The same for the entries of an encoding by edges. The gradients with respect to the values at edges take the values'
    // place; an entry's gradient is the sum of those above it. What a thread touches here no other thread does, and
    // `refresh_values` deals the columns out in the same way.
    template <class Sink>
    DEVICE void entry_gradient(int n_rows, Sink& sink) const {
        constexpr int kAtOnce = 4;
        const Encoding& e = problem.encoding;
        const float *deltas = delta(1), *low = below(), *high = above();
        const int *edges = edge(), stride = place(0).stride, d_stride = delta_stride(1), across = (widths[0] + 3) / 4;
        for (int i = thread_index(); i < e.n_columns * across; i += n_threads()) {
            const int c = i / across, column = 4 * (i % across), n = n_entries(e, c), begin = first_edge(e, c);
            float* slopes = values + column;
            for (int k = 0; k <= n; ++k) store4(slopes + (begin + k) * stride, {0, 0, 0, 0});
            for (int k = 0; k < n; ++k) sink.expect(entry_weights() + (e.first[c] + k) * stride + column);
            for (int row = 0; row < n_rows; row += kAtOnce) {
                int at[kAtOnce];
                float b[kAtOnce], a[kAtOnce];
                float4 d[kAtOnce];
#pragma unroll
                for (int r = 0; r < kAtOnce; ++r) {  // rows behind the last count nothing
                    const int one = row + r < n_rows ? row + r : row, place = one * e.n_columns + c;
                    at[r] = edges[place] * stride;
                    b[r] = row + r < n_rows ? low[place] : 0.0f;
                    a[r] = row + r < n_rows ? high[place] : 0.0f;
                    d[r] = load4(deltas + one * d_stride + column);
                }
#pragma unroll
                for (int r = 0; r < kAtOnce; ++r) {
                    add_to(slopes + at[r], b[r], d[r]);
                    add_to(slopes + at[r] + stride, a[r], d[r]);
                }
            }
            float sums[4] = {};
            for (int k = n - 1; k >= 0; --k) {
                add_scaled(sums, 1.0f, load4(slopes + (begin + k + 1) * stride));
                sink.four(entry_weights() + (e.first[c] + k) * stride + column, sums, true);
            }
        }
    }

    template <class Sink>
    DEVICE void head_gradient(int n_rows, Sink& sink) const {
        const int last = problem.n_layers() - 1, n = depth(last), n_heads = problem.n_heads();
        const float *a = activation(last), *d = delta_heads();
        const int a_stride = place(last).activation_stride;
        // From the last thread down: the first ones have tiles of the layer below to do.
        for (int i = n_threads() - 1 - thread_index(); i < n_heads * (n + 1); i += n_threads()) {
            const int h = i / (n + 1), k = i % (n + 1);
            float sum = 0;
#pragma unroll 8
            for (int r = 0; r < n_rows; ++r) sum = line(d[r * n_heads + h], a[r * a_stride + k], sum);
            sink.one(place(last).weights + h * place(last).stride + k, sum, k < n);
        }
    }

    DEVICE void refresh_values() const {
        if (problem.by_edges())
            values_at_edges(problem.encoding, parameters + entry_weights(), place(0).stride, widths[0], values);
    }
};
