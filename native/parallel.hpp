// Threads that live for one call: nothing to shut down, nothing that breaks when the process forks.
#pragma once

#include <cstdint>
#include <functional>

namespace extranets {

// Makes what this thread needs to throw exceptions: libstdc++ takes memory for it at a thread's first exception, and glibc ends
// the process if there is none ("cannot allocate memory for thread-local data: ABORT"), which is just when std::bad_alloc is
// thrown. False, and nothing made, without memory: then the thread must not throw.
bool ready_to_throw();

// Runs task(0) ... task(n_tasks - 1) on up to n_threads threads, each taking the next free number. With `watch` given, it is
// called on the calling thread about every 50 ms until all is done. The first exception of a task is thrown again here.
void run_parallel(int64_t n_tasks, int n_threads, const std::function<void(int64_t)>& task,
                  const std::function<void()>& watch = nullptr);

}  // namespace extranets
