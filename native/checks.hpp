// What callers hand over, checked before a kernel sees it: kernels themselves look for nothing.
#pragma once

#include <vector>

#include "arrays.hpp"
#include "contract.hpp"

namespace extranets {

// A numeric encoding whose arrays fit together. Copies, because it outlives the call that made it, and the caller's arrays
// may change meanwhile.
class EncodingArrays {
  public:
    EncodingArrays(int kind, const In<int32_t, 1>& columns, const In<int32_t, 1>& first, const In<float, 1>& numbers);
    EncodingArrays(const EncodingArrays&) = delete;
    EncodingArrays& operator=(const EncodingArrays&) = delete;

    // For a table with n_inputs columns; null for none.
    static const Encoding* of(const EncodingArrays* arrays, int n_inputs);

  private:
    std::vector<int32_t> columns, first;
    std::vector<float> numbers;
    Encoding view{};
};

// Which rows of the table each member trains on, and how often.
class Samples {
  public:
    Samples(const std::optional<In<uint16_t, 2>>& counts, const std::optional<In<int32_t, 1>>& count_rows, size_t n_members,
            const Data& data);
    const uint16_t* counts_of(size_t member) const;  // null: every row once
    int64_t size_of(size_t member) const;  // rows, as often as they are counted

  private:
    const uint16_t* counts = nullptr;
    const int32_t* rows = nullptr;
    int64_t n_rows;
    std::vector<int64_t> sizes;
};

void check_options(const Options& options);

int checked_threads(int n_threads);

// The columns of X, which must be at least one.
int columns_of(const In<float, 2>& X);

Data data_of(const In<float, 2>& X, const In<float, 2>& y, const std::optional<In<float, 1>>& weight,
             const std::optional<In<float, 1>>& adversarial = std::nullopt);

// `name` is what the caller calls the widths.
Shape checked_shape(const char* name, const int32_t* widths, size_t n_hidden, int n_inputs, int n_heads,
                    const Encoding* encoding = nullptr);

// Heads of networks that are trained on `data`.
int heads_of(const Data& data, const Options& options);

// A mini-batch of a sample of n_rows rows must fit into the kernels' places of 32 bits.
void check_batch(const Options& options, const Data& data, int64_t n_rows, int n_heads);

}  // namespace extranets
