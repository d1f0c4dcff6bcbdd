#include "memory.hpp"

#include <new>

constexpr std::align_val_t kCacheLine{64};

void* allocate_aligned(std::size_t bytes) { return ::operator new(bytes, kCacheLine); }

void free_aligned(void* pointer) { ::operator delete(pointer, kCacheLine); }
