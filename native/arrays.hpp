// NumPy arrays as the bindings take them, and the memory that one call reads and writes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace extranets {

namespace nb = nanobind;

template <class T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N>
using Out = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

// Becomes a ValueError in Python.
inline void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}
inline void require(bool condition, const char* argument, const char* what) {
    if (!condition) throw std::invalid_argument(std::string(argument) + ": " + what);
}

// The arrays of one call. What is written must share no memory with any other array: threads write their parts at any time,
// and kernels read what they take for constant. Arrays must be aligned for their element type, because compilers rely on that.
class Memory {
  public:
    template <class Array>
    Memory& reads(const char* name, const Array& array) {
        return add({name, address(array), array.nbytes(), false}, array.itemsize());
    }
    template <class Array>
    Memory& writes(const char* name, const Array& array) {
        return add({name, address(array), array.nbytes(), true}, array.itemsize());
    }
    template <class Array>
    Memory& reads(const char* name, const std::optional<Array>& array) {
        return array ? reads(name, *array) : *this;
    }
    template <class Array>
    Memory& writes(const char* name, const std::optional<Array>& array) {
        return array ? writes(name, *array) : *this;
    }

  private:
    struct Block {
        const char* name;
        uintptr_t begin;
        size_t bytes;
        bool written;
    };
    std::vector<Block> blocks;

    template <class Array>
    static uintptr_t address(const Array& array) {
        return reinterpret_cast<uintptr_t>(array.data());
    }

    Memory& add(const Block& block, size_t alignment) {
        require(block.begin % alignment == 0, block.name, "its numbers are not aligned in memory");
        for (const Block& other : blocks) {
            const bool shared = block.begin < other.begin + other.bytes && other.begin < block.begin + block.bytes;
            if (shared && block.bytes > 0 && other.bytes > 0 && (block.written || other.written))
                throw std::invalid_argument(std::string(block.name) + " and " + other.name + " share memory");
        }
        blocks.push_back(block);
        return *this;
    }
};

}  // namespace extranets
