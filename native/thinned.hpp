// A stochastic pass as a network of its own: the hidden units that its mask kept, moved together, with the factor 1/keep
// in the weights above them. Its cost is that of the kept units, no activation is multiplied by a mask, and the mask is
// drawn once for all the rows that a thread works on.
#pragma once

#include "network.hpp"
#include "philox.hpp"

namespace extranets::EXTRANETS_VARIANT {

struct Thinned {
    Buffer<int32_t> kept;  // which units each layer reads: the inputs, then the kept units of every hidden layer
    Buffer<float> factor;  // what each of them is multiplied by
    Buffer<float> block;  // parameters, then the values at edges
    int begin[kMaxLayers];  // where the units that layer l reads begin in `kept`
    int32_t widths[kMaxLayers];

    Thinned(int64_t most_units, int64_t most_parameters)
        : kept(most_units), factor(most_units), block(most_parameters) {}

    // The mask of pass `id`. Dropped inputs stay with factor zero: all passes share the rows as they are.
    void draw(const EnsembleView& e, uint32_t id, const Layout& member) {
        Words words(make_stream(e.seed, id, Purpose::pass, 0, 0));
        int at = 0;
        for (int l = 0; l < member.n_layers; ++l) {
            const float keep = l == 0 ? e.input_keep : e.dropout_keep, scale = 1.0f / keep;
            begin[l] = at;
            const int n_units = l == 0 ? member.n_inputs : member.layers[l].n_in;
            for (int i = 0; i < n_units; ++i) {
                const bool alive = keep == 1.0f || words.uniform() < keep;
                kept.data[at] = i;
                factor.data[at] = alive ? scale : 0.0f;
                at += alive || l == 0;
            }
            if (l == 0 && member.encoding) at = take_encoded(*member.encoding, at);
            if (l > 0) widths[l - 1] = at - begin[l];
        }
    }

    // What an encoding adds to the inputs is dropped with the columns it comes from.
    int take_encoded(const Encoding& encoding, int at) {
        for (int c = 0; c < encoding.n_columns; ++c)
            for (int k = encoding.first[c]; k < encoding.first[c + 1]; ++k, ++at) {
                kept.data[at] = at;
                factor.data[at] = factor.data[encoding.columns[c]];
            }
        return at;
    }

    // The thinned network of the drawn mask; its layout is returned, its parameters are in `block`. A hidden layer may be
    // empty.
    Layout build(const EnsembleView& e, const Layout& member, const float* parameters) {
        const Layout layout({e.n_inputs, e.n_hidden, widths, e.n_heads, e.encoding});
        clear(block.data, layout.size);
        for (int l = 0; l + 1 < layout.n_layers; ++l)
            copy_hidden(layout.layers[l], member.layers[l], parameters, begin[l], kept.data + begin[l + 1]);
        copy_output(layout.output(), member.output(), parameters, begin[layout.n_layers - 1]);
        refresh_derived(layout, block.data, 0, block.data + layout.size);
        return layout;
    }

    void copy_hidden(const Layer& to, const Layer& from, const float* parameters, int below, const int32_t* units) {
        for (int i = 0; i < to.n_in; ++i) {
            const float* source = parameters + from.weights + int64_t(kept.data[below + i]) * from.columns;
            float* target = block.data + to.weights + int64_t(i) * to.columns;
            const float scale = factor.data[below + i];
            for (int j = 0; j < to.n_out; ++j) target[j] = source[units[j]] * scale;
        }
        for (int j = 0; j < to.n_out; ++j) block.data[to.bias + j] = parameters[from.bias + units[j]];
    }

    void copy_output(const Layer& to, const Layer& from, const float* parameters, int below) {
        for (int o = 0; o < to.n_out; ++o) {
            const float* source = parameters + from.weights + int64_t(o) * from.columns;
            float* target = block.data + to.weights + int64_t(o) * to.columns;
            for (int i = 0; i < to.n_in; ++i) target[i] = source[kept.data[below + i]] * factor.data[below + i];
            block.data[to.bias + o] = parameters[from.bias + o];
        }
    }
};

}  // namespace extranets::EXTRANETS_VARIANT
