// Memory that begins at a cache line. Allocated by code that is compiled once (see memory.cpp), owned by the kernels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace extranets {

void* allocate_aligned(int64_t count, std::size_t size);  // throws std::bad_alloc
void free_aligned(void* pointer);

}  // namespace extranets
