// The threads of a block, which work on one member or on one block of rows: their places, barriers and sums.
//
// Kernels know the hardware only through this file. They give the same numbers for any number of threads: a thread's share of
// the work is found by striding, and no sum is split between threads but those of `warp_sum` and `block_sum`.

#define DEVICE __device__ __forceinline__
#define SHARED __shared__
#define CONSTANT const __grid_constant__

constexpr int kThreads = 512;  // at most
constexpr int kWarp = 32;

#define KERNEL extern "C" __global__ void __launch_bounds__(kThreads)

extern __shared__ float4 dynamic_memory[];
DEVICE float* shared_memory() { return reinterpret_cast<float*>(dynamic_memory); }

DEVICE int thread_index() { return threadIdx.x; }
DEVICE int n_threads() { return blockDim.x; }
DEVICE int block_index() { return blockIdx.x; }
DEVICE int n_blocks() { return gridDim.x; }
DEVICE void barrier() { __syncthreads(); }
DEVICE void warp_barrier() { __syncwarp(); }

// work(row, column) for a matrix of numbers: a warp takes a row, its lanes the columns.
template <class Work>
DEVICE void for_each(int n_rows, int n_columns, const Work& work) {
    const int lane = thread_index() % kWarp;
    for (int row = thread_index() / kWarp; row < n_rows; row += n_threads() / kWarp)
        for (int column = lane; column < n_columns; column += kWarp) work(row, column);
}

// Every lane gets the sum; the order of additions is fixed.
template <class T>
DEVICE T warp_sum(T x) {
    for (int distance = kWarp / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(0xffffffffu, x, distance);
    return x;
}

DEVICE bool none_of_warp(bool x) { return !__any_sync(0xffffffffu, x); }

// Whether all lanes have different numbers.
DEVICE bool warp_differs(long long x) {
    const unsigned same = __match_any_sync(0xffffffffu, x);
    return !__any_sync(0xffffffffu, (same & (same - 1)) != 0);
}

// One lane after the other.
template <class Work>
DEVICE void in_turn(const Work& work) {
    for (int lane = 0; lane < kWarp; ++lane) {
        if (threadIdx.x % kWarp == lane) work();
        __syncwarp();
    }
}

DEVICE float quotient(float a, float b) { return __fdividef(a, b); }

// Asks for a line of global memory that will be read soon.
DEVICE void prefetch(const float* p) { asm volatile("prefetch.global.L1 [%0];" ::"l"(p)); }

DEVICE float line(float a, float x, float b) { return fmaf(a, x, b); }

// Copies that arrive in the background, so that the next mini-batch comes while this one computes. `Vector` is float4 or float.
template <class Vector>
DEVICE void copy_async(Vector* to, const Vector* from) {
#if __CUDA_ARCH__ >= 800
    const unsigned target = unsigned(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(target), "l"(from), "n"(int(sizeof(Vector))) : "memory");
#else
    *to = *from;
#endif
}

DEVICE void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
