// Members on worker threads, while the calling thread looks for Ctrl-C and reports progress.
#pragma once

#include <functional>
#include <vector>

#include "arrays.hpp"
#include "contract.hpp"

namespace extranets {

// What a member has to do: so many epochs, and how long one of them takes beside those of other members.
struct Work {
    double n_epochs;
    double epoch_cost;

    double cost() const { return n_epochs * epoch_cost; }
};

// Calls work(member, control) for every member, the longest work first, so that no thread is left with a long one at the end.
// `progress` may be None; it hears which share of all work is done, and never a smaller one than before. Whatever Python
// raises meanwhile, Ctrl-C or an exception of `progress`, stops the workers and is raised again when they have stopped.
void run_members(const std::vector<Work>& works, int n_threads, const nb::object& progress,
                 const std::function<void(size_t, Control&)>& work);

}  // namespace extranets
