#include "memory.hpp"

#include <limits>
#include <new>

namespace extranets {

constexpr std::align_val_t kCacheLine{64};

void* allocate_aligned(int64_t count, std::size_t size) {
    if (count < 0 || uint64_t(count) > std::numeric_limits<std::size_t>::max() / size) throw std::bad_alloc();
    // Without an exception of its own, because AddressSanitizer would end the process instead of throwing one.
    void* const memory = ::operator new(std::size_t(count) * size, kCacheLine, std::nothrow);
    if (!memory) throw std::bad_alloc();
    return memory;
}

void free_aligned(void* pointer) { ::operator delete(pointer, kCacheLine); }

}  // namespace extranets
