// Where the rows of tables lie in the bins of their columns: found once for each table and encoding, read by all members.
#pragma once

#include <vector>

#include "contract.hpp"

namespace extranets {

class PlacedRows {
  public:
    // For a piecewise-linear encoding: `data` will find its bins here once place() is done. Equal tables with equal encodings
    // share them.
    void add(Data& data, const Encoding& encoding);
    void place(const Kernels& kernels, int n_threads);

  private:
    struct Table {
        const float* X;
        int64_t n_rows;
        int n_inputs;
        const Encoding* encoding;
        std::vector<uint8_t> bins;
        std::vector<float> positions;
    };
    std::vector<Table> tables;

    Table& table_of(const Data& data, const Encoding& encoding);
};

}  // namespace extranets
