// Adversarial rows (Goodfellow et al. 2015), as in native/adversarial.hpp: every row of a batch again, moved where its loss
// grows fastest.

// Gradient with respect to column k of the table, from the deltas of a plain pass.
DEVICE float input_gradient(const Network& net, int row, int k) {
    const Problem& p = net.problem;
    const Place& first = net.place(0);
    float sum = 0;
    if (net.is_output(0)) {
        for (int h = 0; h < p.n_heads(); ++h)
            sum = line(net.delta_heads()[row * p.n_heads() + h], net.parameters[first.weights + h * first.stride + k], sum);
        return sum;
    }
    const float *d = net.delta(1) + row * net.delta_stride(1), *w = net.parameters + first.weights + k * first.stride;
    for (int j = 0; j < net.width(0); ++j) sum = line(d[j], w[j], sum);
    return sum;
}

// What reaches an encoded column through its entries.
DEVICE float gradient_through_entries(const Network& net, int row, int c) {
    const Problem& p = net.problem;
    const Encoding& e = p.encoding;
    const float* input = net.input + row * net.place(0).activation_stride;
    const float x = input[e.columns[c]];
    if (p.by_edges()) {
        const Spot spot = find_spot(e, c, x);
        const float *d = net.delta(1) + row * net.delta_stride(1);
        const float* w = net.parameters + net.entry_weights() + (e.first[c] + spot.bin) * net.place(0).stride;
        float sum = 0;
        for (int j = 0; j < net.width(0); ++j) sum = line(d[j], w[j], sum);
        return sum * spot.slope;
    }
    if (e.kind == kPiecewiseLinear) {
        const Spot spot = find_spot(e, c, x);
        return input_gradient(net, row, p.n_inputs + e.first[c] + spot.bin) * spot.slope;
    }
    const int n = n_entries(e, c) / 2, begin = p.n_inputs + e.first[c];
    float slope = 0;
    for (int j = 0; j < n; ++j)
        slope += e.numbers[j] * (input_gradient(net, row, begin + j) * input[begin + n + j] -
                                 input_gradient(net, row, begin + n + j) * input[begin + j]);
    return 6.28318531f * slope;
}

DEVICE int encoded_place(const Encoding& e, int column) {
    for (int c = 0; c < e.n_columns; ++c)
        if (e.columns[c] == column) return c;
    return -1;
}

// Fills rows n_rows ... 2 n_rows - 1 of the input: row + steps * sign(gradient), where sign(0) = 0. Targets and weights are
// copied with them. The deltas must be those of a pass without dropout. Ends without a barrier.
DEVICE void append_adversarial(const Network& net, int n_rows, float* y, float* weight) {
    const Problem& p = net.problem;
    const int n = p.n_inputs, stride = net.place(0).activation_stride;
    for (int i = thread_index(); i < n_rows * (n + 1); i += n_threads()) {
        const int row = i / (n + 1), k = i % (n + 1);
        float* moved = net.input + (n_rows + row) * stride;
        if (k == n) {  // a thread that has no column copies the rest of the row
            if (p.by_edges() || p.encoding.n_entries == 0) moved[n] = 1.0f;
            for (int o = 0; o < p.n_outputs(); ++o) y[(n_rows + row) * p.n_outputs() + o] = y[row * p.n_outputs() + o];
            weight[n_rows + row] = weight[row];
            continue;
        }
        const int c = encoded_place(p.encoding, k);
        const float slope = input_gradient(net, row, k) + (c < 0 ? 0.0f : gradient_through_entries(net, row, c));
        const float step = slope > 0 ? p.adversarial[k] : (slope < 0 ? -p.adversarial[k] : 0.0f);
        moved[k] = net.input[row * stride + k] + step;
    }
}
