// What the host lays out for one call, read by every kernel. `PROBLEM` in ../problem.py is its twin, field by field.

constexpr int kMostLayers = 64;

enum LossKind : int { kSquaredError = 0, kGaussianNll = 1 };
enum ScheduleKind : int { kConstant = 0, kLinear = 1, kCosine = 2 };
enum EncodingKind : int { kPiecewiseLinear = 0, kPeriodic = 1 };

// Inputs that are computed from columns of the table: see native/encoding.hpp. With `by_edges` they are never written out.
struct Encoding {
    const int* columns;  // (n_columns): which of the table's
    const int* first;  // (n_columns + 1): where each column's entries begin
    const float* numbers;  // edges of every column, or frequencies
    int kind, n_columns, n_entries, by_edges;
};

// Where a layer's numbers lie, the same for all members: strides are those of a network without a mask. A hidden layer has a
// row of weights for each input that it finds in its activation, then the biases, then a row for each entry of an encoding
// by edges. The output layer lies the other way round: a row for each head, with the bias behind the weights. In an
// activation a one stands behind the units, so that a bias is one more weight.
struct Place {
    int stride;  // of the weights
    int weights;  // in a member's block
    int activation, activation_stride;  // what the layer reads; in the workspace
    int delta;  // gradient with respect to that activation's weighted sums; its stride is that of the layer below
};

struct Workspace {  // offsets of what a mini-batch needs besides activations
    int next_input, heads, delta_heads, y, weight, rows, edge, below, above;
};

struct Options {
    int loss, schedule, n_epochs, batch_size;
    float learning_rate, beta1, beta2, epsilon, weight_decay, dropout_keep, input_keep, max_grad_norm;
};

struct Problem {
    const float* X;  // (n_rows, x_stride): the columns, a one, zeros
    const float* y;  // (n_rows, n_outputs)
    const float* weight;  // (n_rows) or null
    const float* adversarial;  // (n_inputs) or null
    const unsigned* ids;  // (n_members)
    const int* widths;  // (n_members, n_layers - 1)
    float *parameters, *first, *second, *gradient;  // (n_members, block_size)
    float* values;  // (n_members, values_size): of the first layer at the edges of the bins
    float* workspace;  // one for each block of threads where shared memory is too small; else null
    Encoding encoding;
    long long block_size, values_size, workspace_size;
    unsigned long long seed;
    Options options;
    Workspace at;
    int n_inputs, n_outputs, n_heads, n_layers, x_stride;
    Place places[kMostLayers];
};
