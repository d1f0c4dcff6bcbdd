// One member: its forward and backward passes over the rows in its workspace.

// Multiplies inputs and hidden units: inverted dropout, one word for each unit, and each row unless all rows share a mask.
struct Dropout {
    Stream stream;
    float input_keep, hidden_keep;
    bool by_row;

    DEVICE bool drops() const { return input_keep < 1.0f || hidden_keep < 1.0f; }
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
    DEVICE bool is_output(int l) const { return l == problem.n_layers - 1; }
    // Inputs that layer l finds in its activation.
    DEVICE int depth(int l) const {
        return l > 0 ? widths[l - 1] : problem.n_inputs + (problem.encoding.by_edges ? 0 : problem.encoding.n_entries);
    }
    DEVICE int width(int l) const { return is_output(l) ? problem.n_heads : widths[l]; }
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
        for (int l = 1; l < problem.n_layers; ++l) {
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
        const int stride = place(0).activation_stride, n = e.by_edges ? e.n_columns : e.n_entries + 1;
        for (int i = begin * n + thread_index(); i < end * n; i += n_threads()) {
            const int row = i / n, at = i % n;
            float* x = input + row * stride;
            if (e.by_edges) {
                const Spot spot = find_spot(e, at, x[e.columns[at]]);
                edge()[i] = first_edge(e, at) + spot.bin;
                below()[i] = 1.0f - spot.position;
                above()[i] = spot.position;
            } else if (at == e.n_entries) {
                x[problem.n_inputs + at] = 1.0f;
            } else {
                const int c = column_of_entry(at);
                x[problem.n_inputs + at] = entry_value(e, c, at - e.first[c], x[e.columns[c]]);
            }
        }
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
        for (int i = thread_index(); i < n_rows * n; i += n_threads())
            input[i / n * stride + i % n] *= dropout.factor(dropout.input_keep, dropout.word(0, i / n, n, i % n));
        const int n_more = e.by_edges ? e.n_columns : e.n_entries;
        for (int i = thread_index(); i < n_rows * n_more; i += n_threads()) {
            const int row = i / n_more, at = i % n_more, c = e.by_edges ? at : column_of_entry(at);
            const float factor = dropout.factor(dropout.input_keep, dropout.word(0, row, n, e.columns[c]));
            if (e.by_edges) {
                below()[i] *= factor;
                above()[i] *= factor;
            } else {
                input[row * stride + n + at] *= factor;
            }
        }
    }

    // What the encoded columns give to a tile of the first layer's sums.
    DEVICE void add_between_edges(int row, int column, int n_rows, float (&sums)[kTileRows][4]) const {
        const int n = problem.encoding.n_columns, stride = place(0).stride;
        for (int c = 0; c < n; ++c) {
#pragma unroll
            for (int r = 0; r < kTileRows; ++r) {
                const int at = (row + r < n_rows ? row + r : row) * n + c;  // rows behind the last have no edges
                const float* value = values + edge()[at] * stride + column;
                add_scaled(sums[r], below()[at], load4(value));
                add_scaled(sums[r], above()[at], load4(value + stride));
            }
        }
    }

    // The activations of all layers, then the heads: finish(row) is told when a row's heads are there, by one thread. Ends
    // without a barrier.
    template <class Finish>
    DEVICE void forward(int n_rows, const Dropout& dropout, const Finish& finish) const {
        if (dropout.input_keep < 1.0f) {
            drop_inputs(dropout, n_rows);
            barrier();
        }
        long long begin = dropout.words(dropout.input_keep, n_rows, problem.n_inputs);
        for (int l = 0; !is_output(l); ++l) {
            const Place& p = place(l);
            const int width = widths[l], stride = place(l + 1).activation_stride;
            float* next = activation(l + 1);
            times_weights(activation(l), p.activation_stride, parameters + p.weights, p.stride, depth(l) + 1, n_rows, width,
                          [&](int row, int column, float (&sums)[kTileRows][4]) {
                              if (l == 0 && problem.encoding.by_edges) add_between_edges(row, column, n_rows, sums);
                              for (int r = 0; r < kTileRows && row + r < n_rows; ++r)
#pragma unroll
                                  for (int j = 0; j < 4; ++j) {
                                      if (column + j >= width) continue;
                                      float unit = sums[r][j] <= 0.0f ? 0.0f : sums[r][j];  // NaN stays
                                      if (dropout.hidden_keep < 1.0f)
                                          unit *= dropout.factor(dropout.hidden_keep,
                                                                 dropout.word(begin, row + r, width, column + j));
                                      next[(row + r) * stride + column + j] = unit;
                                  }
                          });
            begin += dropout.words(dropout.hidden_keep, n_rows, width);
            barrier();
        }
        put_heads(n_rows, finish);
    }

    template <class Finish>
    DEVICE void put_heads(int n_rows, const Finish& finish) const {
        const int last = problem.n_layers - 1, n = depth(last) + 1, n_heads = problem.n_heads;
        const int lane = thread_index() % kWarp;
        for (int row = thread_index() / kWarp; row < n_rows; row += n_threads() / kWarp) {
            const float* a = activation(last) + row * place(last).activation_stride;
            for (int h = 0; h < n_heads; ++h) {
                const float* w = parameters + place(last).weights + h * place(last).stride;
                float sum = 0;
                for (int k = lane; k < n; k += kWarp) sum = line(a[k], w[k], sum);
                sum = warp_sum(sum);
                if (lane == 0) heads()[row * n_heads + h] = sum;
            }
            if (lane == 0) finish(row);
        }
    }

    // delta(last) from the heads' deltas. `scale` is 1/keep under inverted dropout: a dropped unit has activation 0, so the
    // gate of the ReLU stops its gradient too.
    DEVICE void backward_heads(int n_rows, float scale) const {
        const int last = problem.n_layers - 1, n = depth(last), n_heads = problem.n_heads;
        for (int i = thread_index(); i < n_rows * n; i += n_threads()) {
            const int row = i / n, k = i % n;
            const float* w = parameters + place(last).weights + k;
            float sum = 0;
            for (int h = 0; h < n_heads; ++h) sum = line(delta_heads()[row * n_heads + h], w[h * place(last).stride], sum);
            const bool open = activation(last)[row * place(last).activation_stride + k] > 0.0f;
            delta(last)[row * delta_stride(last) + k] = open ? sum * scale : 0.0f;
        }
    }

    // delta(l) from delta(l + 1), for l >= 1.
    DEVICE void backward_to(int l, int n_rows, float scale) const {
        if (is_output(l)) return backward_heads(n_rows, scale);
        const float* a = activation(l);
        const int a_stride = place(l).activation_stride, stride = delta_stride(l);
        float* to = delta(l);
        times_transposed(delta(l + 1), delta_stride(l + 1), parameters + place(l).weights, place(l).stride, widths[l], n_rows,
                         depth(l), [&](int row, int unit, float sum) {
                             to[row * stride + unit] = a[row * a_stride + unit] > 0.0f ? sum * scale : 0.0f;
                         });
    }

    // Gradients of layer l's parameters: sink(offset, gradient, is weight) and sink.four(offset, gradients, is weight).
    template <class Sink>
    DEVICE void layer_gradient(int l, int n_rows, Sink& sink) const {
        if (is_output(l)) return head_gradient(n_rows, sink);
        const float *a = activation(l), *d = delta(l + 1);
        const int a_stride = place(l).activation_stride, d_stride = delta_stride(l + 1), stride = place(l).stride;
        const int n = depth(l), across = (widths[l] + 3) / 4;
        const int n_tiles = across * ((n + 1 + kTileInputs - 1) / kTileInputs);
        for (int tile = thread_index(); tile < n_tiles; tile += n_threads()) {
            const int first = kTileInputs * (tile / across), column = 4 * (tile % across);
            const auto inputs = [&](int r, float (&x)[kTileInputs]) {
#pragma unroll
                for (int i = 0; i < kTileInputs; i += 4) {
                    const float4 four = load4(a + r * a_stride + first + i);
                    x[i] = four.x, x[i + 1] = four.y, x[i + 2] = four.z, x[i + 3] = four.w;
                }
            };
            outer_tile(inputs, d, d_stride, n_rows, column, [&](const float (&sums)[kTileInputs][4]) {
#pragma unroll
                for (int i = 0; i < kTileInputs; ++i)
                    if (first + i <= n) sink.four(place(l).weights + (first + i) * stride + column, sums[i], first + i < n);
            });
        }
        if (l == 0 && problem.encoding.by_edges) entry_gradient(n_rows, sink);
    }

    // The same for the entries of an encoding by edges. A tile's entries belong to one column.
    template <class Sink>
    DEVICE void entry_gradient(int n_rows, Sink& sink) const {
        const Encoding& e = problem.encoding;
        const float* d = delta(1);
        const int stride = place(0).stride, across = (widths[0] + 3) / 4;
        int begin = 0;  // tiles of the columns before
        for (int c = 0, tile = thread_index(); c < e.n_columns; ++c) {
            const int n = n_entries(e, c), n_tiles = across * ((n + kTileInputs - 1) / kTileInputs);
            for (; tile < begin + n_tiles; tile += n_threads()) {
                const int first = kTileInputs * ((tile - begin) / across), column = 4 * ((tile - begin) % across);
                const int edge_of_first = first_edge(e, c) + first;
                const auto inputs = [&](int r, float (&x)[kTileInputs]) {
                    const int at = r * e.n_columns + c, bin = edge()[at] - edge_of_first;
                    const float part = above()[at], whole = below()[at] + part;
#pragma unroll
                    for (int i = 0; i < kTileInputs; ++i) x[i] = bin > i ? whole : (bin == i ? part : 0.0f);
                };
                outer_tile(inputs, d, delta_stride(1), n_rows, column, [&](const float (&sums)[kTileInputs][4]) {
#pragma unroll
                    for (int i = 0; i < kTileInputs; ++i)
                        if (first + i < n)
                            sink.four(entry_weights() + (e.first[c] + first + i) * stride + column, sums[i], true);
                });
            }
            begin += n_tiles;
        }
    }

    template <class Sink>
    DEVICE void head_gradient(int n_rows, Sink& sink) const {
        const int last = problem.n_layers - 1, n = depth(last), n_heads = problem.n_heads;
        const float* a = activation(last);
        for (int i = thread_index(); i < n_heads * (n + 1); i += n_threads()) {
            const int h = i / (n + 1), k = i % (n + 1);
            float sum = 0;
            for (int r = 0; r < n_rows; ++r)
                sum = line(delta_heads()[r * n_heads + h], a[r * place(last).activation_stride + k], sum);
            sink.one(place(last).weights + h * place(last).stride + k, sum, k < n);
        }
    }

    DEVICE void refresh_values() const {
        if (problem.encoding.by_edges)
            values_at_edges(problem.encoding, parameters + entry_weights(), place(0).stride, widths[0], values);
    }
};
