// Mini-batches of one member. One block of threads does all steps of a launch; nothing but the member's own rows and streams
// has a say in the result.

// Where gradients go: straight into Adam, or into memory with their squares summed, for clipping.
struct Step {
    const Adam& adam;
    // What does not lie in shared memory is asked for before the sums that it is needed for.
    DEVICE void expect(int at) {
        if (IN_SHARED < 3) prefetch(adam.first + at), prefetch(adam.second + at);
        if (IN_SHARED < 2) prefetch(adam.parameters + at);
    }
    DEVICE void one(int at, float g, bool is_weight) { adam.update(at, g, is_weight); }
    DEVICE void four(int at, const float (&g)[4], bool is_weight) { adam.update4(at, g, is_weight); }
};

struct Kept {
    float* gradient;
    double squares = 0;
    DEVICE void expect(int) {}
    DEVICE void one(int at, float g, bool) {
        gradient[at] = g;
        squares += double(g * g);
    }
    DEVICE void four(int at, const float (&g)[4], bool is_weight) {
        for (int i = 0; i < 4; ++i) one(at + i, g[i], is_weight);
    }
};

template <class Sink>
DEVICE void backward(const Network& net, int n_rows, float scale, Sink& sink) {
#pragma unroll kUnrolledLayers
    for (int l = net.problem.n_layers() - 1; l >= 0; --l) {
        if (l > 0 && !net.is_output(l)) {
            net.backward_to(l, n_rows, scale);  // reads weights that the gradients change
            barrier();
        }
        net.layer_gradient(l, n_rows, sink);
    }
}

// The gradient goes to memory first, because its norm is needed before a weight may change.
DEVICE void clipped_step(const Network& net, int n_rows, float scale, const Adam& adam, float* gradient,
                         double (&room)[kMostWarps + 1]) {
    const Problem& p = net.problem;
    Kept kept{gradient};
    backward(net, n_rows, scale, kept);
    const double norm = sqrt(block_sum(kept.squares, room));
    const float factor = norm > p.options.max_grad_norm ? float(p.options.max_grad_norm / norm) : 1.0f;
    for (int l = 0; l < p.n_layers(); ++l) {
        const Place& place = net.place(l);
        const int n = net.depth(l), width = net.width(l), more = l == 0 && p.by_edges() ? p.encoding.n_entries : 0;
        const int rows = net.is_output(l) ? width : n + 1 + more, columns = net.is_output(l) ? n + 1 : width;
        for (int i = thread_index(); i < rows * columns; i += n_threads()) {
            const int row = i / columns, column = i % columns;
            const int at = place.weights + row * place.stride + column;
            adam.update(at, gradient[at] * factor, (net.is_output(l) ? column : row) != n);
        }
    }
}

struct Launch {
    int epoch, attempt, unit_variance;
    long long first_step, end_step;  // within the epoch
    const Rates* rates;  // of these steps
};

// Rows of mini-batches, gathered one step ahead where the workspace is in shared memory.
template <bool kAhead>
struct Batches {
    const Problem& problem;
    float* memory;
    const unsigned* order;
    long long n;  // rows of an epoch
    int capacity, batch_rows;

    DEVICE int rows(long long step) const {
        const long long left = n - step * capacity;
        return left <= 0 ? 0 : int(left < capacity ? left : capacity);
    }
    DEVICE float* input(long long step) const {
        return memory + (kAhead && step % 2 ? problem.at.next_input : problem.places[0].activation);
    }
    DEVICE float* y(long long step) const {
        return memory + problem.at.y + (kAhead && step % 2 ? batch_rows * problem.n_outputs() : 0);
    }
    DEVICE float* weight(long long step) const { return memory + problem.at.weight + (kAhead && step % 2 ? batch_rows : 0); }
    DEVICE unsigned* picked(long long step) const {
        return reinterpret_cast<unsigned*>(memory + problem.at.rows) + (kAhead && step % 2 ? batch_rows : 0);
    }

    template <class Vector>
    DEVICE void put(Vector* to, const Vector* from) const {
        if (kAhead)
            copy_async(to, from);
        else
            *to = *from;
    }

    DEVICE void pick(long long step) const {
        for (int r = thread_index(); r < rows(step); r += n_threads())
            put(reinterpret_cast<float*>(picked(step) + r), reinterpret_cast<const float*>(order + step * capacity + r));
    }

    DEVICE void gather(long long step) const {
        const unsigned* from = picked(step);
        const int n_rows = rows(step), across = problem.x_stride / 4, stride = problem.places[0].activation_stride;
        const int n_outputs = problem.n_outputs();
        float* to = input(step);
        for_each(n_rows, across, [&](int row, int i) {
            put(reinterpret_cast<float4*>(to + row * stride + 4 * i),
                reinterpret_cast<const float4*>(problem.X + static_cast<long long>(from[row]) * problem.x_stride + 4 * i));
        });
        for (int i = thread_index(); i < n_rows * n_outputs; i += n_threads())
            put(y(step) + i, problem.y + static_cast<long long>(from[i / n_outputs]) * n_outputs + i % n_outputs);
        if (problem.weight)
            for (int r = thread_index(); r < n_rows; r += n_threads()) put(weight(step) + r, problem.weight + from[r]);
    }

    DEVICE void begin(long long step) const {
        if (!problem.weight)
            for (int i = thread_index(); i < (kAhead ? 2 : 1) * batch_rows; i += n_threads())
                memory[problem.at.weight + i] = 1.0f;
        if (!kAhead) return;
        pick(step);
        wait_for_copies();
        barrier();
        gather(step);
        pick(step + 1);
    }

    // Afterwards the step's rows are there and the next step's are on their way.
    DEVICE void arrive(long long step) const {
        if (kAhead) {
            wait_for_copies();
            barrier();
            gather(step + 1);
            pick(step + 2);
        } else {
            barrier();
            pick(step);
            barrier();
            gather(step);
            barrier();
        }
    }
};

// One mini-batch. Returns this thread's share of the summed loss of n_rows rows.
DEVICE double train_batch(Network& net, int n_rows, float* y, float* weight, const Dropout& dropout, bool unit_variance,
                          const Adam& adam, float* gradient, double (&room)[kMostWarps + 1]) {
    const Problem& p = net.problem;
    double loss = 0;
    const auto lose = [&](float scale) {
        return [&, scale](int begin, int n) {
            for (int row = begin + thread_index() % kWarp; row < begin + n; row += kWarp)
                loss += row_loss(p.loss(), net.heads() + row * p.n_heads(), y + row * p.n_outputs(), p.n_outputs(), weight[row],
                                 1.0f / float(n_rows), net.delta_heads() + row * p.n_heads(), unit_variance);
            warp_barrier();
            net.backward_heads(begin, n, scale);
        };
    };
    if (p.encodes()) {
        net.encode(0, n_rows);
        barrier();
    }
    if (p.is_adversarial()) {
        net.forward(n_rows, no_dropout(), lose(1.0f));
        barrier();
        for (int l = p.n_layers() - 2; l > 0; --l) {
            net.backward_to(l, n_rows, 1.0f);
            barrier();
        }
        append_adversarial(net, n_rows, y, weight);
        barrier();
        if (p.encodes()) {
            net.encode(n_rows, 2 * n_rows);
            barrier();
        }
        n_rows *= 2;
        loss = 0;
    }
    const float scale = 1.0f / p.hidden_keep();
    net.forward(n_rows, dropout, lose(scale));
    barrier();
    if (p.clips()) {
        clipped_step(net, n_rows, scale, adam, gradient, room);
        barrier();
    } else {
        Step step{adam};
        backward(net, n_rows, scale, step);
    }
    net.refresh_values();
    return p.is_adversarial() ? loss / 2 : loss;
}

DEVICE void copy_block(float* to, const float* from, long long n) {
    for (long long i = 4 * thread_index(); i < n; i += 4 * n_threads()) store4(to + i, load4(from + i));
}

// Steps [first_step, end_step) of an epoch for member `slot`. The first kInShared of workspace, parameters (with the values
// at edges) and moments are in shared memory.
template <int kInShared>
DEVICE void train_member(const Problem& problem, int slot, const unsigned* order, long long n_rows, int capacity,
                         const Launch& launch, double* loss_sum) {
    SHARED double room[kMostWarps + 1];
    SHARED int widths[kMostLayers];
    const Options& o = problem.options;
    const long long block = problem.block_size;
    float* shared = shared_memory();
    float* memory = kInShared > 0 ? shared : problem.workspace + block_index() * problem.workspace_size;
    float *parameters = problem.parameters + slot * block, *values = problem.values + slot * problem.values_size;
    float *first = problem.first + slot * block, *second = problem.second + slot * block;
    if (kInShared > 1) {
        float* next = shared + problem.workspace_size;
        copy_block(next, parameters, block);
        copy_block(next + block, values, problem.values_size);
        parameters = next;
        values = next + block;
        next += block + problem.values_size;
        if (kInShared > 2) {
            copy_block(next, first, block);
            copy_block(next + block, second, block);
            first = next;
            second = next + block;
        }
    }
    for (int l = thread_index(); l + 1 < problem.n_layers(); l += n_threads())
        widths[l] = problem.widths[slot * (problem.n_layers() - 1) + l];
    barrier();
    const unsigned id = problem.ids[slot];
    const int batch_rows = problem.is_adversarial() ? 2 * o.batch_size : o.batch_size;
    const Batches<(kInShared > 0)> batches{problem, memory, order, n_rows, capacity, batch_rows};
    Network net{problem, widths, parameters, values, memory, nullptr};
    net.prepare(batch_rows);
    const long long per_epoch = (n_rows + capacity - 1) / capacity;
    const long long end = launch.end_step < per_epoch ? launch.end_step : per_epoch;
    double loss = 0;
    if (launch.first_step < end) batches.begin(launch.first_step);
    for (long long s = launch.first_step; s < end; ++s) {
        const long long step = launch.epoch * per_epoch + s;
        const Rates rates = launch.rates[s - launch.first_step];
        batches.arrive(s);
        net.input = batches.input(s);
        const Dropout dropout{make_stream(problem.seed, id, kDropout, launch.attempt, unsigned(step)), problem.input_keep(),
                              problem.hidden_keep(), true};
        const Adam adam{parameters, first, second, 1.0f - o.beta1, 1.0f - o.beta2, o.epsilon, rates};
        loss += train_batch(net, batches.rows(s), batches.y(s), batches.weight(s), dropout, launch.unit_variance, adam,
                            problem.gradient + slot * block, room);
    }
    wait_for_copies();
    const double sum = block_sum(loss, room);
    if (thread_index() == 0) *loss_sum += sum;
    if (kInShared > 1) {
        copy_block(problem.parameters + slot * block, parameters, block);
        copy_block(problem.values + slot * problem.values_size, values, problem.values_size);
    }
    if (kInShared > 2) {
        copy_block(problem.first + slot * block, first, block);
        copy_block(problem.second + slot * block, second, block);
    }
}

// Steps of one epoch. IN_SHARED is set when this file is compiled: see train_member. `rates` has the steps of every kind of
// member: those whose epochs have equally many.
KERNEL train_steps(CONSTANT Problem p, const int* slots, const unsigned* orders, long long order_stride,
                   const long long* n_rows, const int* capacities, int epoch, int attempt, int unit_variance,
                   long long first_step, long long end_step, const Rates* rates, const int* kinds, double* loss_sums) {
    const int slot = slots[block_index()];
    train_member<IN_SHARED>(p, slot, orders + slot * order_stride, n_rows[slot], capacities[slot],
                            {epoch, attempt, unit_variance, first_step, end_step,
                             rates + kinds[slot] * (end_step - first_step)},
                            loss_sums + static_cast<long long>(slot) * p.options.n_epochs + epoch);
}
