#include "placed_rows.hpp"

#include <algorithm>

#include "arrays.hpp"
#include "parallel.hpp"

namespace extranets {

namespace {

constexpr int64_t kRange = 8192;  // rows that a thread places at once

bool equal(const Encoding& a, const Encoding& b) {
    return a.n_columns == b.n_columns && std::equal(a.columns, a.columns + a.n_columns, b.columns) &&
           std::equal(a.first, a.first + a.n_columns + 1, b.first) &&
           std::equal(a.numbers, a.numbers + a.n_entries + a.n_columns, b.numbers);
}

}  // namespace

PlacedRows::Table& PlacedRows::table_of(const Data& data, const Encoding& encoding) {
    for (Table& table : tables)
        if (table.X == data.X && table.n_rows == data.n_rows && table.n_inputs == data.n_inputs &&
            equal(*table.encoding, encoding))
            return table;
    const size_t n = size_t(data.n_rows) * size_t(encoding.n_columns);
    tables.push_back({data.X, data.n_rows, data.n_inputs, &encoding, std::vector<uint8_t>(n), std::vector<float>(n)});
    return tables.back();
}

void PlacedRows::add(Data& data, const Encoding& encoding) {
    const Table& table = table_of(data, encoding);
    data.bins = table.bins.data();
    data.positions = table.positions.data();
}

void PlacedRows::place(const Kernels& kernels, int n_threads) {
    struct Range {
        Table* table;
        int64_t begin;
    };
    std::vector<Range> ranges;
    for (Table& table : tables)
        for (int64_t begin = 0; begin < table.n_rows; begin += kRange) ranges.push_back({&table, begin});
    const nb::gil_scoped_release release;
    run_parallel(int64_t(ranges.size()), n_threads, [&](int64_t i) {
        const auto [table, begin] = ranges[size_t(i)];
        kernels.place_rows(*table->encoding, table->X, table->n_inputs, begin, std::min(table->n_rows, begin + kRange),
                           table->bins.data(), table->positions.data());
    });
}

}  // namespace extranets
