#include "checks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace extranets {

namespace {

constexpr int64_t kMostPlaces = std::numeric_limits<int32_t>::max();

bool increase(const float* numbers, int n) {
    for (int i = 1; i < n; ++i)
        if (!(numbers[i - 1] < numbers[i])) return false;  // nor does NaN
    return true;
}

bool is_share(float x) { return x > 0 && x <= 1; }
bool is_below_one(float x) { return x >= 0 && x < 1; }
bool is_amount(float x) { return x >= 0 && std::isfinite(x); }

}  // namespace

EncodingArrays::EncodingArrays(int kind, const In<int32_t, 1>& the_columns, const In<int32_t, 1>& the_first,
                               const In<float, 1>& the_numbers) {
    require(kind == int(EncodingKind::piecewise_linear) || kind == int(EncodingKind::periodic), "kind: unknown encoding");
    Memory().reads("columns", the_columns).reads("first", the_first).reads("numbers", the_numbers);
    const size_t n = the_columns.shape(0);
    require(n >= 1 && n < size_t(kMostUnits) && the_first.shape(0) == n + 1 && the_first.data()[0] == 0,
            "columns, first: an encoding needs columns, and in first where the entries of each begin, from 0 on");
    columns.assign(the_columns.data(), the_columns.data() + n);
    first.assign(the_first.data(), the_first.data() + n + 1);
    numbers.assign(the_numbers.data(), the_numbers.data() + the_numbers.shape(0));
    const bool periodic = kind == int(EncodingKind::periodic);
    const int64_t n_numbers = int64_t(numbers.size());
    require(columns[0] >= 0, "columns: a column is not in X");
    for (size_t c = 0; c < n; ++c) {
        const int64_t entries = int64_t(first[c + 1]) - first[c];
        require(periodic ? entries >= 1 && entries == 2 * n_numbers : entries >= 1 && entries <= kMostBins,
                "first: a column has too few or too many entries");
        require(c == 0 || columns[c] > columns[c - 1], "columns: encoded columns must increase");
    }
    view = {EncodingKind(kind), int(n), first[n], columns.data(), first.data(), numbers.data()};
    require(view.n_entries < kMostUnits, "first: too many entries");
    require(periodic || n_numbers == view.n_entries + int64_t(n), "numbers: a column needs one edge more than bins");
    for (size_t c = 0; !periodic && c < n; ++c)
        require(increase(numbers.data() + first[c] + c, first[c + 1] - first[c] + 1), "numbers: the edges must increase");
    require(!periodic || std::all_of(numbers.begin(), numbers.end(), [](float f) { return std::isfinite(f); }),
            "numbers: frequencies must be finite");
}

const Encoding* EncodingArrays::of(const EncodingArrays* arrays, int n_inputs) {
    if (!arrays) return nullptr;
    require(arrays->columns.back() < n_inputs, "encoding: an encoded column is not in X");
    return &arrays->view;
}

Samples::Samples(const std::optional<In<uint16_t, 2>>& the_counts, const std::optional<In<int32_t, 1>>& count_rows,
                 size_t n_members, const Data& data)
    : n_rows(data.n_rows) {
    if (!the_counts) return;
    require(count_rows && count_rows->shape(0) == n_members && int64_t(the_counts->shape(1)) == n_rows,
            "counts has the wrong shape: it needs a column per row of X, and count_rows a number per member");
    counts = the_counts->data();
    rows = count_rows->data();
    const int64_t n_samples = int64_t(the_counts->shape(0));
    for (int64_t i = 0; i < n_samples; ++i)
        sizes.push_back(std::accumulate(counts + i * n_rows, counts + (i + 1) * n_rows, int64_t(0)));
    for (size_t i = 0; i < n_members; ++i) {
        require(rows[i] >= -1 && rows[i] < n_samples, "count_rows points outside counts");
        require(size_of(i) > 0, "counts: a sample without rows");
        require(size_of(i) <= kMostRows, "counts: a sample has 2^32 rows or more");
    }
}

const uint16_t* Samples::counts_of(size_t member) const {
    return counts && rows[member] >= 0 ? counts + rows[member] * n_rows : nullptr;
}

int64_t Samples::size_of(size_t member) const { return counts && rows[member] >= 0 ? sizes[size_t(rows[member])] : n_rows; }

void check_options(const Options& o) {
    require(o.batch_size >= 1 && o.n_epochs >= 1 && o.n_starts >= 1, "batch_size, n_epochs and n_starts must be positive");
    require(o.warm_up_epochs >= 0 && o.patience >= 0 && o.max_restarts >= 0,
            "warm_up_epochs, patience and max_restarts must not be negative");
    require(int64_t(o.n_starts) + o.max_restarts <= kMostAttempts, "n_starts and max_restarts must be at most 2^24 together");
    require(is_amount(o.learning_rate), "learning_rate must be finite and not negative");
    require(is_amount(o.epsilon), "epsilon must be finite and not negative");
    require(is_amount(o.weight_decay), "weight_decay must be finite and not negative");
    require(o.max_grad_norm >= 0, "max_grad_norm must not be negative");
    require(is_below_one(o.beta1) && is_below_one(o.beta2), "beta1 and beta2 must be at least 0 and below 1");
    require(is_share(o.dropout_keep) && is_share(o.input_keep), "dropout_keep and input_keep must be above 0 and at most 1");
    require(is_below_one(o.validation_fraction), "validation_fraction must be at least 0 and below 1");
    require(!std::isnan(o.tolerance) && !std::isnan(o.collapse_r2), "tolerance and collapse_r2 must be numbers");
}

int checked_threads(int n_threads) {
    require(n_threads >= 1, "n_threads must be positive");
    return n_threads;
}

int columns_of(const In<float, 2>& X) {
    require(X.shape(1) >= 1, "X: a network needs an input");
    require(X.shape(1) < size_t(kMostUnits), "X: too many columns");
    return int(X.shape(1));
}

Data data_of(const In<float, 2>& X, const In<float, 2>& y, const std::optional<In<float, 1>>& weight,
             const std::optional<In<float, 1>>& adversarial) {
    require(X.shape(0) == y.shape(0), "X and y must have the same number of rows");
    require(X.shape(0) >= 1 && int64_t(X.shape(0)) <= kMostRows, "X: between one row and 2^32 - 1 rows are needed");
    const int n_inputs = columns_of(X);
    require(y.shape(1) >= 1 && y.shape(1) <= size_t(kMostHeads) / 2, "y: a network needs an output, and at most 2^23");
    require(!weight || weight->shape(0) == X.shape(0), "weight must have one entry per row");
    require(!adversarial || adversarial->shape(0) == X.shape(1), "adversarial must have one step per column of X");
    return {X.data(),
            y.data(),
            weight ? weight->data() : nullptr,
            adversarial ? adversarial->data() : nullptr,
            int64_t(X.shape(0)),
            n_inputs,
            int(y.shape(1))};
}

Shape checked_shape(const char* name, const int32_t* widths, size_t n_hidden, int n_inputs, int n_heads,
                    const Encoding* encoding) {
    require(n_hidden <= size_t(kMostHidden), name, "too many hidden layers");
    require(n_inputs >= 1 && n_heads >= 1, "a network needs an input and an output");
    require(n_heads <= kMostHeads, "too many outputs");
    int64_t n_units = int64_t(n_inputs) + (encoding ? encoding->n_entries : 0) + n_heads;
    for (size_t l = 0; l < n_hidden; ++l) {
        require(widths[l] >= 1, name, "every hidden layer needs a unit");
        n_units += widths[l];
    }
    require(n_units <= kMostUnits, name, "a network has more than 2^28 inputs, units and heads");
    return {n_inputs, int(n_hidden), widths, n_heads, encoding};
}

int heads_of(const Data& data, const Options& options) {
    return data.n_outputs * (options.loss == Loss::gaussian_nll ? 2 : 1);
}

void check_batch(const Options& options, const Data& data, int64_t n_rows, int n_heads) {
    const int64_t batch_rows = std::min(int64_t(options.batch_size), n_rows) * (data.adversarial ? 2 : 1);
    require(batch_rows * n_heads <= kMostPlaces, "batch_size: a batch has 2^31 predictions or more");
}

}  // namespace extranets
