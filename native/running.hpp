// Members on worker threads, while the calling thread looks for Ctrl-C and reports progress.
#pragma once

#include <functional>

#include "arrays.hpp"
#include "contract.hpp"

namespace extranets {

// Calls work(member, control) for every member. Whatever Python raises meanwhile, Ctrl-C or an exception of `progress`, stops
// the workers and is raised again when they have stopped. `progress` may be None.
void run_members(size_t n, double n_epochs, int n_threads, const nb::object& progress,
                 const std::function<void(size_t, Control&)>& work);

}  // namespace extranets
