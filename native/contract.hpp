// The contract between the part of the engine that is compiled once (threads, bindings) and the kernels, which are
// compiled once per instruction set. Plain structs and function pointers only.
#pragma once

#include <atomic>
#include <cstdint>

namespace extranets {

// Keep in step with `Purpose` in src/extranets/_random.py.
enum class Purpose : uint32_t {
    mask = 0, init = 1, shuffle = 2, dropout = 3, validation = 4, pass = 5, rows = 6, weights = 7, resample = 8
};

enum class Loss : int32_t { squared_error = 0, gaussian_nll = 1 };
enum class Schedule : int32_t { constant = 0, linear = 1, cosine = 2 };
enum class Outcome : int32_t { trained = 0, collapsed = 1, not_finite = 2, cancelled = 3 };

enum class EncodingKind : int32_t { piecewise_linear = 0, periodic = 1 };

// Limits that the bindings keep, so that no kernel has to look for overflow: within them, places in a block of rows fit into
// 32 bits, and the memory of one network into 63.
constexpr int kMostHidden = 63;  // hidden layers of a network
constexpr int kMostUnits = 1 << 28;  // of a network's layers together: inputs, hidden units and heads
constexpr int kMostHeads = 1 << 24;
constexpr int kMostBins = 255;  // of a column: MOST_BINS in src/extranets/encodings.py
constexpr int kMostAttempts = 1 << 24;  // of a member: a stream's name has 24 bits for the attempt
constexpr int64_t kMostRows = (int64_t(1) << 32) - 1;  // of a table, or of a member's sample

// What computes further inputs of the first layer from columns of the table. They come after the table's own columns; see
// src/extranets/encodings.py.
struct Encoding {
    EncodingKind kind;
    int n_columns;  // how many columns are encoded
    int n_entries;  // how many inputs they add together
    const int32_t* columns;  // (n_columns): their numbers in the table, increasing
    const int32_t* first;  // (n_columns + 1): where each column's entries begin
    // Piecewise linear: every column's edges, one more than its entries. Periodic: the frequencies, the same for all columns.
    const float* numbers;
};

// One member's shape. `n_inputs` counts the table's columns, without what an encoding adds. `widths` holds how many units the
// member's mask left in each hidden layer.
struct Shape {
    int n_inputs;
    int n_hidden;
    const int32_t* widths;
    int n_heads;  // outputs, or outputs and as many log-variances
    const Encoding* encoding = nullptr;
};

struct Options {
    Loss loss;
    int n_epochs;
    int batch_size;
    float learning_rate;
    Schedule schedule;
    float beta1, beta2, epsilon;
    float weight_decay;
    int warm_up_epochs;  // Gaussian loss: how many epochs at the start hold the variance at one
    float dropout_keep;  // of hidden units; 1: no dropout
    float input_keep;  // of inputs
    float max_grad_norm;  // 0: no clipping
    float validation_fraction;  // 0: no early stopping
    int patience;
    float tolerance;
    int n_starts;
    int max_restarts;
    float collapse_r2;  // below this training R^2 a network counts as collapsed
    uint64_t seed;
};

struct Data {
    const float* X;  // (n_rows, n_inputs)
    const float* y;  // (n_rows, n_outputs)
    const float* weight;  // (n_rows) or null
    const float* adversarial;  // (n_inputs): steps of the adversarial rows that join every batch; null: none
    int64_t n_rows;
    int n_inputs;
    int n_outputs;
    // Where the rows lie in the bins of a piecewise-linear encoding, found once for all members: (n_rows, encoded columns).
    const uint8_t* bins = nullptr;
    const float* positions = nullptr;
};

// A network to be trained, and on which rows.
struct Member {
    uint32_t id;
    Shape shape;
    const uint16_t* counts;  // (n_rows): how often each row stands in this member's sample; null: once each
};

// One part of a member's training, an epoch of other rows than those of the parts before, and what it goes on with from there.
struct Stretch {
    float* first;  // in and out: Adam's moments, canonical layout
    float* second;
    uint32_t attempt;
    uint32_t number;  // of the part; names its shuffle
    int64_t step, n_steps;  // mini-batches before this part, and of all parts
};

// What one member's training needs and gives back.
struct MemberTask : Member {
    float* parameters;  // out: canonical layout; of a stretch: in and out
    const Stretch* stretch = nullptr;  // null: the whole training at once
    float* loss_curve;  // out: (n_epochs), NaN where stopped early
    double train_loss;
    double train_r2;
    double validation_loss;
    int n_epochs_run;
    int n_attempts;
    Outcome outcome;
};

// The same for variational inference, which learns a Gaussian posterior of the parameters.
struct VariationalTask : Member {
    bool graves;  // Graves's gradients and prior
    float* mean;  // out: canonical layout, as is std
    float* std;
    float* noise_variance;  // out: (n_outputs)
    float* prior_variance;  // out
    float* loss_curve;  // out: (n_epochs)
    Outcome outcome;
};

// Shared between the worker threads and the thread that watches them.
struct Control {
    std::atomic<bool> cancelled{false};
    std::atomic<int64_t> epochs_done{0};
};

// One posterior of probabilistic back-propagation, which training updates in place. `shape` has one head.
struct PbpTask : Member {
    uint64_t seed;
    int n_passes;
    int target;  // column of y
    double* mean;  // of every weight, canonical layout
    double* variance;
    double* noise;  // shape and rate of the gamma distribution of the precision of the noise
    double* prior;  // of the weights
};

// A trained ensemble as the forward pass reads it. A pass is the forward pass of one member. With `pass_ids` given, pass p uses
// member p mod n_members, so that there may be more passes than members, and dropout thins it: the pass's own stream says
// first which inputs are dropped, then which hidden units. Where keep is 1, nothing is taken from the stream.
struct EnsembleView {
    int n_members;
    int n_passes;
    int n_inputs;
    int n_hidden;
    int n_heads;
    int n_outputs;
    const int32_t* widths;  // (n_members, n_hidden)
    const float* parameters;  // all members, canonical layout
    const Encoding* encoding;  // null: none
    const float* packed;  // all members, this variant's padded layout (see pack_ensemble)
    const uint32_t* pass_ids;  // (n_passes); null: deterministic
    float dropout_keep, input_keep;
    uint64_t seed;
};

// What one variant of the kernels offers.
struct Kernels {
    const char* name;
    int64_t (*parameter_count)(const Shape&);
    // Bins and positions of rows [begin, end) of X, which has n_inputs columns.
    void (*place_rows)(const Encoding&, const float* X, int n_inputs, int64_t begin, int64_t end, uint8_t* bins,
                       float* positions);
    void (*train_member)(const Data&, const Options&, MemberTask&, Control&);
    void (*train_variational)(const Data&, const Options&, VariationalTask&, Control&);
    int64_t (*packed_floats)(const EnsembleView&);
    void (*pack_ensemble)(const EnsembleView&, float* packed);
    // Heads of every pass for rows [begin, end): out[pass * pass_stride + row * n_heads + head]
    void (*forward_rows)(const EnsembleView&, const float* X, int64_t begin, int64_t end, float* out, int64_t pass_stride);
    // Per row and output: mean over passes, variance over passes (1/T), and mean predicted variance (null without it)
    void (*moment_rows)(const EnsembleView&, const float* X, int64_t begin, int64_t end, double* mean, double* variance,
                        double* mean_variance);
    // Gradient of one head of the first member with respect to its parameters, parameter_count floats per row of X.
    void (*jacobian_rows)(const EnsembleView&, const float* X, int64_t begin, int64_t end, int head, float* out);
    // Gradient of the mean loss over all rows of `data` (one batch).
    double (*batch_gradient)(const Data&, const Options&, const Shape&, const float* parameters, float* gradient);
    void (*random_words)(uint64_t seed, uint32_t member, uint32_t purpose, uint32_t attempt, uint32_t part, int64_t n,
                         uint32_t* out);
    void (*random_normals)(uint64_t seed, uint32_t member, uint32_t purpose, uint32_t attempt, uint32_t part, int64_t n,
                           float* out);
    void (*pbp_train)(const Data&, const PbpTask&, Control&);
    // Mean and variance of the output for rows [begin, end), from the moments of the weights.
    void (*pbp_moments)(const Shape&, const double* weight_mean, const double* weight_variance, const float* X, int64_t begin,
                        int64_t end, double* mean, double* variance);
    double (*fma_peak)(double seconds);  // measured flop/s of one thread
};

}  // namespace extranets
