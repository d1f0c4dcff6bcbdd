// What the host lays out for one call, read by every kernel. `PROBLEM` in ../layout.py is its twin, field by field.

// What may be fixed when the kernels are compiled, by `#define`: kernels for one kind of network are smaller and faster.
// -1 leaves it to the problem.
#ifndef SPEC_LAYERS
#define SPEC_LAYERS -1
#define SPEC_HEADS -1
#define SPEC_OUTPUTS -1
#define SPEC_LOSS -1
#define SPEC_ENCODES -1
#define SPEC_BY_EDGES -1
#define SPEC_DROPS_INPUTS -1
#define SPEC_DROPS_UNITS -1
#define SPEC_CLIPS -1
#define SPEC_ADVERSARIAL -1
#endif
constexpr int kUnrolledLayers = SPEC_LAYERS > 0 && SPEC_LAYERS <= 3 ? SPEC_LAYERS : 1;

constexpr int kMostLayers = 64;

enum LossKind : int { kSquaredError = 0, kGaussianNll = 1 };
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
    int loss, n_epochs, batch_size;
    float beta1, beta2, epsilon, dropout_keep, input_keep, max_grad_norm;
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
    int n_inputs, n_outputs_here, n_heads_here, n_layers_here, x_stride;  // `here`: unless it is fixed
    Place places[kMostLayers];

    DEVICE int n_layers() const { return SPEC_LAYERS < 0 ? n_layers_here : SPEC_LAYERS; }
    DEVICE int n_heads() const { return SPEC_HEADS < 0 ? n_heads_here : SPEC_HEADS; }
    DEVICE int n_outputs() const { return SPEC_OUTPUTS < 0 ? n_outputs_here : SPEC_OUTPUTS; }
    DEVICE int loss() const { return SPEC_LOSS < 0 ? options.loss : SPEC_LOSS; }
    DEVICE bool encodes() const { return SPEC_ENCODES < 0 ? encoding.n_columns > 0 : SPEC_ENCODES; }
    DEVICE bool by_edges() const { return SPEC_BY_EDGES < 0 ? encoding.by_edges : SPEC_BY_EDGES; }
    DEVICE float input_keep() const { return SPEC_DROPS_INPUTS == 0 ? 1.0f : options.input_keep; }
    DEVICE float hidden_keep() const { return SPEC_DROPS_UNITS == 0 ? 1.0f : options.dropout_keep; }
    DEVICE bool clips() const { return SPEC_CLIPS < 0 ? options.max_grad_norm > 0 : SPEC_CLIPS; }
    DEVICE bool is_adversarial() const { return SPEC_ADVERSARIAL < 0 ? adversarial != nullptr : SPEC_ADVERSARIAL; }
};
