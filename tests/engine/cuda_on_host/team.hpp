// Stands in for kernels/team.cuh where there is no GPU: a block's threads are threads of this machine, blocks come one after
// the other, a warp has one lane, or LANES of them. The kernels' own text is compiled as it is.
#include <barrier>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#define DEVICE inline
#define SHARED static
#define CONSTANT const
#define KERNEL extern "C" void

struct alignas(16) float4 {
    float x, y, z, w;
};

#ifndef LANES
#define LANES 1
#endif
constexpr int kThreads = 512;
constexpr int kWarp = LANES;

static thread_local int my_index;
static int my_threads, my_block, my_blocks;
static std::unique_ptr<std::barrier<>> my_barrier;
static std::vector<std::unique_ptr<std::barrier<>>> my_warps;
static double exchanged[kThreads];  // between the lanes of a warp; numbers up to 2^53 pass unchanged
static std::vector<float4> my_memory;

inline float* shared_memory() { return reinterpret_cast<float*>(my_memory.data()); }
inline int thread_index() { return my_index; }
inline int n_threads() { return my_threads; }
inline int block_index() { return my_block; }
inline int n_blocks() { return my_blocks; }
inline void barrier() {
    if (my_threads > 1) my_barrier->arrive_and_wait();
}

inline int lane_index() { return my_index % kWarp; }
inline void warp_barrier() {
    if (kWarp > 1) my_warps[my_index / kWarp]->arrive_and_wait();
}

template <class Work>
void for_each(int n_rows, int n_columns, const Work& work) {
    for (int row = thread_index() / kWarp; row < n_rows; row += n_threads() / kWarp)
        for (int column = lane_index(); column < n_columns; column += kWarp) work(row, column);
}

// look(the lanes' numbers), after all of them have given theirs.
template <class Look>
auto among_lanes(double x, const Look& look) {
    exchanged[my_index] = x;
    warp_barrier();
    const auto found = look(exchanged + my_index / kWarp * kWarp);
    warp_barrier();
    return found;
}

template <class T>
T warp_sum(T x) {
    for (int distance = kWarp / 2; distance > 0; distance /= 2)
        x = among_lanes(double(x), [&](const double* of) { return T(x + T(of[lane_index() ^ distance])); });
    return x;
}

inline bool none_of_warp(bool x) {
    return among_lanes(x, [](const double* of) {
        for (int lane = 0; lane < kWarp; ++lane)
            if (of[lane]) return false;
        return true;
    });
}

inline bool warp_differs(long long x) {
    return among_lanes(double(x), [](const double* of) {
        for (int a = 0; a < kWarp; ++a)
            for (int b = 0; b < a; ++b)
                if (of[a] == of[b]) return false;
        return true;
    });
}

template <class Work>
void in_turn(const Work& work) {
    for (int lane = 0; lane < kWarp; ++lane) {
        if (lane_index() == lane) work();
        warp_barrier();
    }
}

inline float quotient(float a, float b) { return a / b; }
inline void prefetch(const float*) {}
inline float line(float a, float x, float b) { return std::fma(a, x, b); }
inline float sinpif(float x) { return float(std::sin(3.14159265358979323846 * x)); }
inline float cospif(float x) { return float(std::cos(3.14159265358979323846 * x)); }

template <class Vector>
void copy_async(Vector* to, const Vector* from) { *to = *from; }
inline void wait_for_copies() {}

// Calls kernel(arguments...) for every block and thread. Shared memory begins as garbage, as on a GPU.
template <class... Arguments, std::size_t... index>
void run(void (*kernel)(Arguments...), int blocks, int threads, long shared_bytes, void** arguments,
         std::index_sequence<index...>) {
    my_threads = threads;
    my_blocks = blocks;
    my_barrier = std::make_unique<std::barrier<>>(threads);
    my_warps.clear();
    for (int i = 0; i < threads; i += kWarp) my_warps.push_back(std::make_unique<std::barrier<>>(kWarp));
    const float nan = std::nanf("");
    my_memory.assign(std::size_t(shared_bytes) / 16 + 1, float4{nan, nan, nan, nan});
    const auto thread = [&](int index_of_thread) {
        my_index = index_of_thread;
        for (int block = 0; block < blocks; ++block) {
            barrier();
            if (index_of_thread == 0) my_block = block;
            barrier();
            kernel(*static_cast<std::remove_cv_t<Arguments>*>(arguments[index])...);
        }
    };
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(thread, i);
    thread(0);
    for (auto& other : others) other.join();
}

#define LAUNCHER(kernel)                                                                                      \
    extern "C" void launch_##kernel(int blocks, int threads, long shared_bytes, void** arguments) {           \
        launch(kernel, blocks, threads, shared_bytes, arguments);                                             \
    }
template <class... Arguments>
void launch(void (*kernel)(Arguments...), int blocks, int threads, long shared_bytes, void** arguments) {
    run(kernel, blocks, threads, shared_bytes, arguments, std::index_sequence_for<Arguments...>{});
}
