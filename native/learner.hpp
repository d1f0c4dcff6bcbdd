// What every way of training a member shares: first weights, the member's rows, and the run through an epoch.
#pragma once

#include "loss.hpp"
#include "network.hpp"
#include "philox.hpp"

namespace extranets::EXTRANETS_VARIANT {

constexpr double kInfinity = __builtin_huge_val();

EXTRANETS_INLINE bool is_finite(double x) { return x - x == 0.0; }

// Glorot-uniform weights, zero biases.
static inline void initialise(const Layout& layout, const Stream& stream, float* block) {
    Words words(stream);
    clear(block, layout.size);
    for (int l = 0; l < layout.n_layers; ++l) {
        const Layer& layer = layout.layers[l];
        const bool output = l == layout.n_layers - 1;
        const float limit = std::sqrt(6.0f / float(layer.n_in + layer.n_out));
        for (int i = 0; i < layer.n_in; ++i)
            for (int j = 0; j < layer.n_out; ++j) {
                const int64_t at = output ? int64_t(j) * layer.columns + i : int64_t(i) * layer.columns + j;
                block[layer.weights + at] = (2.0f * words.uniform() - 1.0f) * limit;
            }
    }
}

struct Rows {
    uint32_t* data;
    int64_t n;
};

// A member, its rows and the mini-batch that it looks at.
struct Learner {
    const Data& data;
    const Options& options;
    const Member& member;
    Control& control;
    Layout layout;
    int64_t n_sample;
    int capacity;    // rows of a mini-batch
    int batch_rows;  // with the adversarial rows that join them
    Buffer<float> batch_memory;
    Batch batch;
    Buffer<float> y, weight;  // of the batch
    Buffer<uint32_t> row_memory, order_memory;
    Rows train_rows, validation_rows;
    int64_t epochs_counted = 0;  // epochs of this attempt that control.epochs_done holds

    Learner(const Data& d, const Options& o, const Member& m, Control& c)
        : data(d), options(o), member(m), control(c), layout(m.shape), n_sample(sample_size(d, m)),
          capacity(int(o.batch_size < n_sample ? o.batch_size : n_sample)),
          batch_rows(d.adversarial ? 2 * capacity : capacity), batch_memory(Batch::floats(layout, batch_rows)),
          batch(layout, batch_rows, batch_memory.data), y(int64_t(batch_rows) * d.n_outputs), weight(batch_rows),
          row_memory(n_sample), order_memory(n_sample) {
        clear(batch_memory.data, Batch::floats(layout, batch_rows));
        for (int r = 0; r < batch_rows; ++r) weight.data[r] = 1.0f;
        deal_rows();
    }

    static int64_t sample_size(const Data& data, const Member& member) {
        if (!member.counts) return data.n_rows;
        int64_t n = 0;
        for (int64_t i = 0; i < data.n_rows; ++i) n += member.counts[i];
        return n;
    }

    // The sample's rows, each as often as its count says. Validation takes whole rows with all their copies, so that no row is
    // on both sides.
    void deal_rows() {
        uint32_t* distinct = order_memory.data;
        int64_t n_distinct = 0;
        for (int64_t i = 0; i < data.n_rows; ++i)
            if (count_of(uint32_t(i)) > 0) distinct[n_distinct++] = uint32_t(i);
        int64_t n_validation = 0;
        if (options.validation_fraction > 0 && n_distinct > 1) {
            shuffle(distinct, n_distinct, make_stream(options.seed, member.id, Purpose::validation, 0, 0));
            n_validation = int64_t(std::ceil(double(options.validation_fraction) * double(n_distinct)));
            if (n_validation >= n_distinct) n_validation = n_distinct - 1;
        }
        uint32_t* next = row_memory.data;
        validation_rows.data = train_rows.data = next;
        for (int64_t i = 0; i < n_distinct; ++i) {
            if (i == n_validation) train_rows.data = next;
            for (int k = count_of(distinct[i]); k > 0; --k) *next++ = distinct[i];
        }
        validation_rows.n = train_rows.data - validation_rows.data;
        train_rows.n = next - train_rows.data;
    }

    int count_of(uint32_t row) const { return member.counts ? member.counts[row] : 1; }

    void gather(const uint32_t* rows, int n) {
        const int width = data.n_inputs, stride = layout.width(0), n_outputs = data.n_outputs;
        for (int r = 0; r < n; ++r) {
            copy_padded(data.X + int64_t(rows[r]) * width, width, batch.activation[0] + int64_t(r) * stride);
            for (int o = 0; o < n_outputs; ++o) y.data[r * n_outputs + o] = data.y[int64_t(rows[r]) * n_outputs + o];
            if (data.weight) weight.data[r] = data.weight[rows[r]];
        }
        if (layout.encoding)
            for (int r = 0; r < n; ++r) encode(r, rows[r]);
    }

    // Row r of the batch, which is `row` of the table.
    void encode(int r, uint32_t row) {
        if (!layout.by_edges) return batch.input.encode(layout, r);
        const Encoding e = *layout.encoding;  // copies: for all that the compiler knows, a store could change the originals
        const Places places = batch.input.places;
        const uint8_t* bins = data.bins + int64_t(row) * e.n_columns;
        const float* positions = data.positions + int64_t(row) * e.n_columns;
        for (int c = 0; c < e.n_columns; ++c) places.put(r, c, first_edge(e, c) + bins[c], positions[c]);
    }

    // Fetches the rows of the next batch while this one computes: with large tables they are in no cache.
    // To the second-level cache (hint 2): the first is full of weights and would lose the rows again.
    // Inlined by force: GCC believes that a function that only prefetches has no effect, and drops the call.
    __attribute__((always_inline)) void prefetch(const uint32_t* rows, int64_t n) const {
        for (int64_t r = 0; r < n; ++r) {
            const char* from = reinterpret_cast<const char*>(data.X + int64_t(rows[r]) * data.n_inputs);
            const int last = data.n_inputs * 4 - 1;  // a row need not begin at a cache line
            for (int at = 0; at < last; at += 64) __builtin_prefetch(from + at, 0, 2);
            __builtin_prefetch(from + last, 0, 2);
            __builtin_prefetch(data.y + int64_t(rows[r]) * data.n_outputs, 0, 2);
            if (layout.by_edges) prefetch_places(int64_t(rows[r]) * layout.encoding->n_columns);
        }
    }

    __attribute__((always_inline)) void prefetch_places(int64_t at) const {
        const char* from = reinterpret_cast<const char*>(data.positions + at);
        const int last = layout.encoding->n_columns * 4 - 1;
        for (int byte = 0; byte < last; byte += 64) __builtin_prefetch(from + byte, 0, 2);
        __builtin_prefetch(from + last, 0, 2);
        __builtin_prefetch(data.bins + at, 0, 2);
    }

    Targets targets() const { return {y.data, weight.data, data.n_outputs}; }

    int64_t steps_per_epoch() const { return (train_rows.n + capacity - 1) / capacity; }

    // Gathers every mini-batch and calls step(rows, index of the step), which returns the batch's summed loss. Returns the
    // mean loss of a row.
    template <class Step>
    double epoch(int64_t index, uint32_t attempt, const Step& step) {
        uint32_t* order = order_memory.data;
        for (int64_t i = 0; i < train_rows.n; ++i) order[i] = train_rows.data[i];
        shuffle(order, train_rows.n, make_stream(options.seed, member.id, Purpose::shuffle, attempt, uint32_t(index)));
        const int64_t size = capacity, per_epoch = steps_per_epoch();
        const bool far = data.n_rows * data.n_inputs > 64 * 1024;  // a smaller table stays in the second-level cache
        double loss = 0;
        for (int64_t s = 0; s < per_epoch && !control.cancelled.load(std::memory_order_relaxed); ++s) {
            const int64_t begin = s * size, left = train_rows.n - begin;
            const int n = int(left < size ? left : size);
            gather(order + begin, n);
            if (far && left > n) prefetch(order + begin + n, left - n < size ? left - n : size);
            loss += step(n, index * per_epoch + s);
        }
        return loss / double(train_rows.n);
    }

    void count_epochs(int64_t n) {
        epochs_counted += n;
        control.epochs_done.fetch_add(n, std::memory_order_relaxed);
    }
};

}  // namespace extranets::EXTRANETS_VARIANT
