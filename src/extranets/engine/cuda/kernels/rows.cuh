// The kernels besides training: first weights, shuffled rows, and passes over rows. A block of threads works on one member, or
// on one member and a block of rows.

// Glorot-uniform weights, zero biases and moments.
KERNEL initialise(CONSTANT Problem p, const int* slots, int attempt) {
    const int slot = slots[block_index()];
    const int* widths = p.widths + slot * (p.n_layers() - 1);
    const Network net{p, widths, p.parameters + slot * p.block_size, p.values + slot * p.values_size, nullptr, nullptr};
    for (long long i = thread_index(); i < p.block_size; i += n_threads()) {
        net.parameters[i] = 0.0f;
        p.first[slot * p.block_size + i] = 0.0f;
        p.second[slot * p.block_size + i] = 0.0f;
    }
    for (long long i = thread_index(); i < p.values_size; i += n_threads()) net.values[i] = 0.0f;
    barrier();
    const Stream stream = make_stream(p.seed, p.ids[slot], kInit, attempt, 0);
    long long words = 0;
    for (int l = 0; l < p.n_layers(); ++l) {
        const Place& place = net.place(l);
        const int depth = net.depth(l), width = net.width(l);
        const long long n_in = depth + (l == 0 && p.by_edges() ? p.encoding.n_entries : 0);
        const float limit = sqrtf(6.0f / float(n_in + width));
        for (long long w = thread_index(); w < n_in * width; w += n_threads()) {
            const int i = int(w / width), j = int(w % width), row = i < depth ? i : i + 1;  // the biases lie in between
            const int at = net.is_output(l) ? j * place.stride + i : row * place.stride + j;
            net.parameters[place.weights + at] = (2.0f * random_uniform(stream, words + w) - 1.0f) * limit;
        }
        words += n_in * width;
    }
    barrier();
    net.refresh_values();
}

// Values at edges, for members whose parameters came from elsewhere.
KERNEL refresh(CONSTANT Problem p, const int* slots) {
    const int slot = slots[block_index()];
    const Network net{p, p.widths + slot * (p.n_layers() - 1), p.parameters + slot * p.block_size,
                      p.values + slot * p.values_size, nullptr, nullptr};
    net.refresh_values();
}

// Fisher-Yates, from the last place down, by one warp for each member: `out` gets a shuffled copy of `rows`. A warp takes as
// many steps at once as it has lanes, unless two of them touch the same place; with few rows that is often, with many seldom.
KERNEL shuffle_rows(CONSTANT Problem p, const int* slots, const unsigned* rows, const long long* begins,
                    const long long* ends, unsigned* out, long long out_stride, int purpose, int attempt, int part) {
    const int slot = slots[block_index()], lane = thread_index();
    const long long n = ends[slot] - begins[slot];
    unsigned* order = out + slot * out_stride;
    for (long long i = lane; i < n; i += n_threads()) order[i] = rows[begins[slot] + i];
    barrier();
    const Stream stream = make_stream(p.seed, p.ids[slot], purpose, attempt, part);
    for (long long last = n - 1; last > 0; last -= n_threads()) {
        const long long i = last - lane;
        const bool swaps = i > 0;
        const long long j = swaps ? (random_word(stream, n - 1 - i) * static_cast<unsigned long long>(i + 1)) >> 32 : i;
        const auto swap = [&] {
            if (!swaps) return;
            const unsigned held = order[i];
            order[i] = order[j];
            order[j] = held;
        };
        if (none_of_warp(j != i && j > last - n_threads()) && warp_differs(j))
            swap();
        else
            in_turn(swap);
        barrier();
    }
}

// Rows of the table into a workspace, and their heads: finish as in Network::forward.
template <class RowOf, class Finish>
DEVICE void heads_of_rows(Network& net, int n_rows, const RowOf& row_of, const Dropout& dropout, const Finish& finish) {
    const Problem& p = net.problem;
    const int across = p.x_stride / 4, stride = net.place(0).activation_stride;
    net.input = net.memory + net.place(0).activation;
    net.prepare(n_rows);
    for_each(n_rows, across, [&](int row, int i) {
        store4(net.input + row * stride + 4 * i, load4(p.X + row_of(row) * p.x_stride + 4 * i));
    });
    barrier();
    if (p.encodes()) {
        net.encode(0, n_rows);
        barrier();
    }
    net.forward(n_rows, dropout, finish);
}

DEVICE Network network_of(const Problem& p, int slot, bool in_shared) {
    float* memory = in_shared ? shared_memory() : p.workspace + block_index() * p.workspace_size;
    return {p, p.widths + slot * (p.n_layers() - 1), p.parameters + slot * p.block_size, p.values + slot * p.values_size,
            memory, nullptr};
}

// A block of threads goes from one block of rows to the next, so that few workspaces are enough.

// Summed loss of a member's rows, no dropout: partial[place of the member in slots, block of rows].
KERNEL evaluate(CONSTANT Problem p, const int* slots, const unsigned* rows, const long long* begins, const long long* ends,
                int n_slots, int rows_per_block, int blocks_per_member, int in_shared, double* partial) {
    SHARED double room[kMostWarps + 1];
    for (long long item = block_index(); item < static_cast<long long>(n_slots) * blocks_per_member; item += n_blocks()) {
        const int slot = slots[item / blocks_per_member];
        const long long begin = begins[slot] + item % blocks_per_member * rows_per_block, left = ends[slot] - begin;
        const int n_rows = left <= 0 ? 0 : int(left < rows_per_block ? left : rows_per_block);
        Network net = network_of(p, slot, in_shared);
        double loss = 0;
        const auto row_of = [&](int r) { return static_cast<long long>(rows[begin + r]); };
        heads_of_rows(net, n_rows, row_of, no_dropout(), [&](int first, int n) {
            for (int r = first + thread_index() % kWarp; r < first + n; r += kWarp)
                loss += row_loss(p.loss(), net.heads() + r * p.n_heads(), p.y + row_of(r) * p.n_outputs(), p.n_outputs(),
                                 p.weight ? p.weight[row_of(r)] : 1.0f, 1.0f, nullptr, false);
        });
        const double sum = block_sum(loss, room);
        if (thread_index() == 0) partial[item] = sum;
    }
}

// Heads of passes for the rows of X: out[pass, row, head]. Pass p is that of member p mod n_members, thinned by dropout from
// the stream of p where something is to be dropped.
KERNEL forward_rows(CONSTANT Problem p, long long n_rows, int n_passes, int n_members, int rows_per_block,
                    int blocks_per_pass, int in_shared, float* out) {
    for (long long item = block_index(); item < static_cast<long long>(n_passes) * blocks_per_pass; item += n_blocks()) {
        const int pass = int(item / blocks_per_pass);
        const long long begin = item % blocks_per_pass * rows_per_block;
        const int n = int(n_rows - begin < rows_per_block ? n_rows - begin : rows_per_block);
        Network net = network_of(p, pass % n_members, in_shared);
        const Dropout dropout{make_stream(p.seed, pass, kPass, 0, 0), p.input_keep(), p.hidden_keep(), false};
        float* to = out + (pass * n_rows + begin) * p.n_heads();
        heads_of_rows(net, n, [&](int r) { return begin + r; }, dropout, [&](int first, int n_own) {
            for (int i = first * p.n_heads() + thread_index() % kWarp; i < (first + n_own) * p.n_heads(); i += kWarp)
                to[i] = net.heads()[i];
        });
        barrier();
    }
}

// Mean and variance (1/T) over passes, and the mean of predicted variances: as in native/predict.hpp, taken about the first
// pass.
KERNEL moments(const float* heads, long long n_rows, int n_passes, int n_outputs, int n_heads, double* mean, double* variance,
               double* mean_variance) {
    for (long long i = static_cast<long long>(block_index()) * n_threads() + thread_index(); i < n_rows * n_outputs;
         i += static_cast<long long>(n_blocks()) * n_threads()) {
        const float* head = heads + i / n_outputs * n_heads + i % n_outputs;
        const double first = head[0];
        double sum = 0, squares = 0, noise = 0;
        for (int pass = 0; pass < n_passes; ++pass, head += n_rows * n_heads) {
            const double d = double(head[0]) - first;
            sum += d;
            squares += d * d;
            if (n_heads > n_outputs) noise += exp(double(clamp_log_variance(head[n_outputs])));
        }
        const double shift = sum / n_passes, v = squares / n_passes - shift * shift;
        mean[i] = first + shift;
        variance[i] = v > 0 ? v : 0;
        if (n_heads > n_outputs) mean_variance[i] = noise / n_passes;
    }
}
