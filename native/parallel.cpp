#include "parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <mutex>
#include <thread>
#include <vector>

namespace extranets {

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool ready_to_throw() {
    // What a thread gives back stays its own (glibc keeps seven blocks of each size for it), so that the C++ library finds
    // its memory even if other threads take all that is left in between.
    constexpr std::size_t kSizes[] = {16, 32, 48, 64, 96, 128, 256, 512, 1024};
    void* blocks[std::size(kSizes)];
    bool there = true;
    for (std::size_t i = 0; i < std::size(kSizes); ++i) there = (blocks[i] = std::malloc(kSizes[i])) && there;
    for (void* block : blocks) std::free(block);
    volatile int thrown = there ? std::uncaught_exceptions() : 0;  // asks for the thread's exceptions, so that they are made
    (void)thrown;
    return there;
}

namespace {

constexpr int kMostThreads = 1024;  // more would not help on any machine

struct Queue {
    int64_t n_tasks;
    const std::function<void(int64_t)>& task;
    const std::function<void()>& watch;
    std::atomic<int64_t> next{0};
    std::mutex mutex;
    std::condition_variable finished;
    int running = 0;
    std::exception_ptr error;

    Queue(int64_t n, const std::function<void(int64_t)>& f, const std::function<void()>& w)
        : n_tasks(n), task(f), watch(w) {}

    void work(bool watched = false) {
        try {
            for (int64_t i; (i = next.fetch_add(1)) < n_tasks;) {
                task(i);
                if (watched) watch();
            }
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex);
            if (!error) error = std::current_exception();
            next = n_tasks;
        }
    }
    void work_and_leave() {
        if (ready_to_throw()) work();  // else others, or the calling thread, do the tasks
        const std::lock_guard<std::mutex> lock(mutex);
        if (--running == 0) finished.notify_all();
    }
};

}  // namespace

void run_parallel(int64_t n_tasks, int n_threads, const std::function<void(int64_t)>& task,
                  const std::function<void()>& watch) {
    ready_to_throw();  // if not, nothing is lost: the calling thread has most often thrown before
    Queue queue(n_tasks, task, watch);
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
    if (watch) {
        std::unique_lock<std::mutex> lock(queue.mutex);
        while (!queue.finished.wait_for(lock, std::chrono::milliseconds(50), [&] { return queue.running == 0; })) {
            lock.unlock();
            watch();  // must not throw: it asks the tasks to stop instead
            lock.lock();
        }
    }
    queue.work(bool(watch));  // with a watch: what is left because no helper could begin
    for (std::thread& t : threads) t.join();
    if (queue.error) std::rethrow_exception(queue.error);
}

}  // namespace extranets
