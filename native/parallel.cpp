#include "parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace extranets {

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

constexpr int kMostThreads = 1024;  // more would not help on any machine

struct Queue {
    int64_t n_tasks;
    const std::function<void(int64_t)>& task;
    std::atomic<int64_t> next{0};
    std::mutex mutex;
    std::condition_variable finished;
    int running = 0;
    std::exception_ptr error;

    Queue(int64_t n, const std::function<void(int64_t)>& f) : n_tasks(n), task(f) {}

    void work() {
        try {
            for (int64_t i; (i = next.fetch_add(1)) < n_tasks;) task(i);
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex);
            if (!error) error = std::current_exception();
            next = n_tasks;
        }
    }
    void work_and_leave() {
        work();
        const std::lock_guard<std::mutex> lock(mutex);
        if (--running == 0) finished.notify_all();
    }
};

}  // namespace

void run_parallel(int64_t n_tasks, int n_threads, const std::function<void(int64_t)>& task,
                  const std::function<void()>& watch) {
    Queue queue(n_tasks, task);
    // Without a watch the calling thread works too.
    const int n_workers = int(std::min<int64_t>(n_tasks, std::clamp(n_threads, 1, kMostThreads)));
    const int n_helpers = std::max(n_workers - (watch ? 0 : 1), 0);
    std::vector<std::thread> threads;
    threads.reserve(size_t(n_helpers));
    queue.running = n_helpers;
    try {
        for (int i = 0; i < n_helpers; ++i) threads.emplace_back([&] { queue.work_and_leave(); });
    } catch (...) {  // the machine gives no more threads, or no memory for them: go on with those there are
        const std::lock_guard<std::mutex> lock(queue.mutex);
        queue.running -= n_helpers - int(threads.size());
    }
    if (watch && !threads.empty()) {
        std::unique_lock<std::mutex> lock(queue.mutex);
        while (!queue.finished.wait_for(lock, std::chrono::milliseconds(50), [&] { return queue.running == 0; })) {
            lock.unlock();
            watch();  // must not throw: it asks the tasks to stop instead
            lock.lock();
        }
    } else {
        queue.work();
    }
    for (std::thread& t : threads) t.join();
    if (queue.error) std::rethrow_exception(queue.error);
}

}  // namespace extranets
