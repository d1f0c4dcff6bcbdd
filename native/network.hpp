// One member: where its numbers lie in memory, and its forward and backward passes over a batch.
#pragma once

#include "contract.hpp"
#include "encoding.hpp"
#include "memory.hpp"
#include "tiles.hpp"

namespace extranets::EXTRANETS_VARIANT {

template <class T>
struct Buffer {
    T* data = nullptr;
    explicit Buffer(int64_t n) : data(static_cast<T*>(allocate_aligned(n > 0 ? n : 1, sizeof(T)))) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { free_aligned(data); }
};

EXTRANETS_INLINE void clear(float* p, int64_t n) {
    for (int64_t i = 0; i < n; ++i) p[i] = 0.0f;
}
EXTRANETS_INLINE void copy(const float* from, int64_t n, float* to) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

// A layer inside the padded parameter block. Hidden layers are stored input-major (rows = inputs, so that outputs come in
// whole vectors); the output layer output-major, because it has few outputs.
struct Layer {
    int n_in, n_out;
    int rows, columns;  // stored weight matrix; columns are padded
    int64_t weights, bias;  // offsets
    int64_t derived;  // offset into the derived block, -1 where there is nothing
};

constexpr int kMaxLayers = kMostHidden + 1;

// Where one member's layers lie: a small table of fixed size, made on the stack.
//
// The derived block holds what the passes read besides the parameters: the first layer's values at the edges of the bins, and
// transposed copies of the hidden layers above it. It must be refreshed when the parameters have changed.
struct Layout {
    int n_layers;
    int n_inputs;  // columns of the table
    const Encoding* encoding;  // null: none
    bool by_edges;  // the encoding's entries are never written out: see encoding.hpp
    Layer layers[kMaxLayers];
    int64_t size = 0;  // floats in the padded block
    int64_t derived_size = 0;
    int64_t edge_size = 0;  // the derived block's first part
    int64_t canonical_size = 0;

    explicit Layout(const Shape& shape, bool written_out = false)
        : n_layers(shape.n_hidden + 1), n_inputs(shape.n_inputs), encoding(shape.encoding),
          by_edges(encoding && encoding->kind == EncodingKind::piecewise_linear && shape.n_hidden > 0 && !written_out) {
        int n_in = n_inputs + (encoding ? encoding->n_entries : 0);
        for (int l = 0; l < n_layers; ++l) {
            const bool output = l == n_layers - 1;
            const int n_out = output ? shape.n_heads : shape.widths[l];
            Layer& layer = layers[l];
            layer.n_in = n_in;
            layer.n_out = n_out;
            layer.rows = output ? n_out : n_in;
            layer.columns = padded(output ? n_in : n_out);
            layer.weights = size;
            size += int64_t(layer.rows) * layer.columns;
            layer.bias = size;
            size += padded(n_out);
            const int64_t needed = output ? 0 : (l > 0 ? int64_t(n_out) * padded(n_in) : edge_floats(layer));
            layer.derived = needed > 0 ? derived_size : -1;
            derived_size += needed;
            if (l == 0) edge_size = needed;
            canonical_size += int64_t(n_in) * n_out + n_out;
            n_in = n_out;
        }
    }
    const Layer& output() const { return layers[n_layers - 1]; }
    int width(int l) const { return padded(l == 0 ? depth(0) : layers[l - 1].n_out); }  // of activation l
    // Inputs that layer l finds in activation l.
    int depth(int l) const { return l == 0 && by_edges ? n_inputs : layers[l].n_in; }

  private:
    int64_t edge_floats(const Layer& first) const { return by_edges ? int64_t(n_edges(*encoding)) * first.columns : 0; }
};

// Canonical layout: for each layer the (inputs, outputs) matrix in C order, then the biases; no padding, so that a stored
// model does not depend on the instruction set that trained it. visit(padded offset, canonical offset) for every number.
template <class Visit>
static inline void for_canonical(const Layout& layout, Visit&& visit) {
    int64_t at = 0;
    for (int l = 0; l < layout.n_layers; ++l) {
        const Layer& layer = layout.layers[l];
        const bool output = l == layout.n_layers - 1;
        for (int i = 0; i < layer.n_in; ++i)
            for (int j = 0; j < layer.n_out; ++j)
                visit(layer.weights + (output ? int64_t(j) * layer.columns + i : int64_t(i) * layer.columns + j), at++);
        for (int j = 0; j < layer.n_out; ++j) visit(layer.bias + j, at++);
    }
}

static inline void pack(const Layout& layout, const float* canonical, float* block) {
    clear(block, layout.size);
    for_canonical(layout, [&](int64_t to, int64_t from) { block[to] = canonical[from]; });
}

static inline void unpack(const Layout& layout, const float* block, float* canonical) {
    for_canonical(layout, [&](int64_t from, int64_t to) { canonical[to] = block[from]; });
}

// Rows as the first layer reads them: the table's columns, and their encoding. The encoding is either written out after the
// columns, or kept beside them as places between edges.
struct Input {
    float* rows;  // padded
    Places places;

    static int64_t floats(const Layout& layout, int64_t n_rows) {
        return n_rows * (layout.width(0) + (layout.by_edges ? 3 * layout.encoding->n_columns : 0));
    }

    Input(const Layout& layout, int64_t n_rows, float* memory)
        : rows(memory), places{layout.by_edges ? layout.encoding->n_columns : 0, nullptr, nullptr, nullptr} {
        const int64_t n = n_rows * places.n_columns;
        places.below = memory + n_rows * layout.width(0);
        places.above = places.below + n;
        places.edge = reinterpret_cast<int32_t*>(places.above + n);  // an int32_t is as wide as a float
    }

    Input from(const Layout& layout, int64_t row) const {
        const int64_t n = row * places.n_columns;
        Input later = *this;
        later.rows += row * layout.width(0);
        later.places = {places.n_columns, places.edge + n, places.below + n, places.above + n};
        return later;
    }

    float* entries(const Layout& layout, int64_t row) const { return rows + row * layout.width(0) + layout.n_inputs; }

    // Encodes a row that is in `rows` already. The layout must have an encoding.
    void encode(const Layout& layout, int64_t row) const {
        const float* columns = rows + row * layout.width(0);
        const Encoding& e = *layout.encoding;
        if (!layout.by_edges) return spread(e, columns, entries(layout, row));
        for (int c = 0; c < e.n_columns; ++c) {
            const Spot spot = find_spot(e, c, columns[e.columns[c]]);
            places.put(row, c, first_edge(e, c) + spot.bin, spot.position);
        }
    }

    // Multiplies what encoded column c adds to a row.
    void scale(const Layout& layout, int64_t row, int c, float factor) const {
        if (layout.by_edges) return places.scale(row, c, factor);
        const Encoding& e = *layout.encoding;
        for (int k = e.first[c]; k < e.first[c + 1]; ++k) entries(layout, row)[k] *= factor;
    }
};

// The activations and deltas of one batch, in memory that the owner has cleared once. Activations are padded to whole
// vectors, heads are not. activation[0] is the input and comes first in memory.
struct Batch {
    const Layout& layout;
    int capacity;
    Input input;
    float* activation[kMaxLayers + 1];
    float* delta[kMaxLayers + 1];  // gradient with respect to the layer's weighted sums; delta[l] belongs to activation[l]
    float* output;  // (rows, heads), as is its delta
    float* output_delta;
    int32_t* next_row;  // room for edge_gradients

    static int64_t floats(const Layout& layout, int capacity) {
        int64_t n = 2 * layout.output().n_out;
        for (int l = 1; l < layout.n_layers; ++l) n += 2 * layout.width(l);
        return (n + layout.by_edges) * capacity + Input::floats(layout, capacity);
    }

    Batch(const Layout& the_layout, int n_rows, float* memory)
        : layout(the_layout), capacity(n_rows), input(layout, n_rows, memory) {
        float* next = memory + Input::floats(layout, capacity);
        const auto take = [&](int width) {
            float* p = next;
            next += int64_t(width) * capacity;
            return p;
        };
        activation[0] = input.rows;
        delta[0] = nullptr;
        for (int l = 1; l < layout.n_layers; ++l) {
            activation[l] = take(layout.width(l));
            delta[l] = take(layout.width(l));
        }
        output = take(layout.output().n_out);
        output_delta = take(layout.output().n_out);
        next_row = reinterpret_cast<int32_t*>(next);
    }

    void read(const Input& other) {
        input = other;
        activation[0] = other.rows;
    }
};

// A hook may multiply the input, or a layer's activations, before the next layer reads them; dropout is one. It is called as
// hook(layer, activations, rows, stride), where layer 0 is the input.
struct NoHook {
    void operator()(int, float*, int, int) const {}
};

template <class Hook>
static inline void forward(Batch& batch, const float* block, const float* derived, int n_rows, const Hook& hook) {
    const Layout& layout = batch.layout;
    hook(0, batch.activation[0], n_rows, layout.width(0));
    for (int l = 0; l + 1 < layout.n_layers; ++l) {
        const Layer& layer = layout.layers[l];
        const DenseArgs args{batch.activation[l], layout.width(l), block + layer.weights, layer.columns,
                             block + layer.bias, layout.depth(l), batch.activation[l + 1], nullptr, layer.columns, 1.0f};
        if (l == 0 && layout.by_edges) {
            dense<Plain>(args, n_rows, layer.columns);
            add_between_edges(batch.input.places, derived + layer.derived, layer.columns, n_rows, batch.activation[1]);
        } else {
            dense<Relu>(args, n_rows, layer.columns);
        }
        hook(l + 1, batch.activation[l + 1], n_rows, layer.columns);
    }
    const Layer& last = layout.output();
    dot_rows(batch.activation[layout.n_layers - 1], last.columns, block + last.weights, last.columns, block + last.bias,
             n_rows, last.n_out, last.columns, batch.output, last.n_out);
}

// delta[l] from the layer above it; `l` >= 1. `scale` is 1/keep under inverted dropout: a dropped unit has activation 0, so
// the ReLU gate stops its gradient too.
static inline void backward_to(Batch& batch, const float* block, const float* derived, int l, int n_rows, float scale) {
    const Layout& layout = batch.layout;
    const Layer& above = layout.layers[l];
    const bool output = l == layout.n_layers - 1;
    const int width = layout.width(l);
    const DenseArgs args{output ? batch.output_delta : batch.delta[l + 1],
                         output ? above.n_out : above.columns,
                         output ? block + above.weights : derived + above.derived,
                         width, nullptr, above.n_out, batch.delta[l], batch.activation[l], width, scale};
    dense<Gated>(args, n_rows, width);
}

alignas(64) static const float kOne = 1.0f;

// Sums over the rows of up to kLanes columns, the rest of the vector zero.
static inline Vec column_sums(const float* values, int stride, int n_rows, int n_columns) {
    float sums[kLanes] = {};
    if (stride == 1) {  // one head: the rows lie side by side
        Vec total = zero();
        int r = 0;
        for (; r + kLanes <= n_rows; r += kLanes) total = add(total, load(values + r));
        if (r < n_rows) total = add(total, load_first(values + r, n_rows - r));
        sums[0] = sum(total);
        return load_first(sums, 1);
    }
    const int n = n_columns < kLanes ? n_columns : kLanes;
    for (int r = 0; r < n_rows; ++r)
        for (int j = 0; j < n; ++j) sums[j] += values[int64_t(r) * stride + j];
    return load(sums);
}

// Hands every gradient vector of layer l to sink(offset in the padded block, vector, is_weight).
template <class Sink>
static inline void layer_gradient(const Batch& batch, int l, int n_rows, const Sink& sink) {
    const Layout& layout = batch.layout;
    const Layer& layer = layout.layers[l];
    const float* below = batch.activation[l];
    const int below_stride = layout.width(l);
    const auto weight_sink = [&](std::ptrdiff_t row, std::ptrdiff_t column, Vec g) {
        sink(layer.weights + row * layer.columns + column, g, true);
    };
    const auto bias_sink = [&](std::ptrdiff_t, std::ptrdiff_t column, Vec g) { sink(layer.bias + column, g, false); };
    if (l == layout.n_layers - 1) {
        outer_sums({batch.output_delta, layer.n_out, below, below_stride, n_rows}, layer.n_out, layer.columns, weight_sink);
        for (int column = 0; column < layer.n_out; column += kLanes)
            bias_sink(0, column, column_sums(batch.output_delta + column, layer.n_out, n_rows, layer.n_out - column));
    } else {
        const float* delta = batch.delta[l + 1];
        outer_sums({below, below_stride, delta, layer.columns, n_rows}, layout.depth(l), layer.columns, weight_sink);
        if (l == 0 && layout.by_edges)
            edge_gradients(*layout.encoding, batch.input.places, delta, layer.columns, n_rows, batch.next_row,
                           [sink, first = layer.weights + int64_t(layout.n_inputs) * layer.columns,
                            width = layer.columns](std::ptrdiff_t entry, std::ptrdiff_t column, Vec g) {
                               sink(first + entry * width + column, g, true);
                           });
        outer_sums({&kOne, 0, delta, layer.columns, n_rows}, 1, layer.columns, bias_sink);
    }
}

static inline void refresh_derived(const Layout& layout, const float* block, int l, float* derived) {
    const Layer& layer = layout.layers[l];
    if (layer.derived < 0) return;
    float* to = derived + layer.derived;
    if (l == 0)
        values_at_edges(*layout.encoding, block + layer.weights + int64_t(layout.n_inputs) * layer.columns, layer.columns, to);
    else
        transpose(block + layer.weights, layer.columns, layer.n_in, layer.n_out, to, padded(layer.n_in));
}

}  // namespace extranets::EXTRANETS_VARIANT
