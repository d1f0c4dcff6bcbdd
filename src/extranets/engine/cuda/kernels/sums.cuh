// Sums over a block of threads.

constexpr int kMostWarps = kThreads / kWarp;

// The sum over all threads, for all of them. `room` is shared.
DEVICE double block_sum(double x, double (&room)[kMostWarps + 1]) {
    x = warp_sum(x);
    barrier();
    if (thread_index() % kWarp == 0) room[thread_index() / kWarp] = x;
    barrier();
    if (thread_index() == 0) {
        double sum = 0;
        for (int w = 0; w < n_threads() / kWarp; ++w) sum += room[w];
        room[kMostWarps] = sum;
    }
    barrier();
    return room[kMostWarps];
}
