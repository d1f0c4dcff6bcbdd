// Cache-line aligned memory, allocated by code that is compiled once (see memory.cpp), owned by the kernels.
#pragma once

#include <cstddef>

void* allocate_aligned(std::size_t bytes);  // throws std::bad_alloc
void free_aligned(void* pointer);
