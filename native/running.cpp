#include "running.hpp"

#include <algorithm>
#include <exception>
#include <numeric>

#include "parallel.hpp"

namespace extranets {

namespace {

struct Watch {
    const std::vector<Work>& works;
    std::vector<Control>& controls;
    const nb::object& progress;
    double total = 0, shown = 0;
    std::exception_ptr error;

    Watch(const std::vector<Work>& w, std::vector<Control>& c, const nb::object& p) : works(w), controls(c), progress(p) {
        for (const Work& work : works) total += work.cost();
    }

    double share() const {
        double done = 0;
        for (size_t i = 0; i < works.size(); ++i) done += double(controls[i].epochs_done.load()) * works[i].epoch_cost;
        return total > 0 ? std::clamp(done / total, 0.0, 1.0) : 1.0;
    }

    void operator()() {
        if (error) return;  // the workers are about to stop
        const nb::gil_scoped_acquire gil;
        try {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            shown = std::max(shown, share());  // a start that will be replaced takes its epochs back
            if (!progress.is_none()) progress(shown);
        } catch (...) {
            error = std::current_exception();
            for (Control& control : controls) control.cancelled = true;
        }
    }
};

std::vector<size_t> longest_first(const std::vector<Work>& works) {
    std::vector<size_t> order(works.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return works[a].cost() > works[b].cost(); });
    return order;
}

}  // namespace

void run_members(const std::vector<Work>& works, int n_threads, const nb::object& progress,
                 const std::function<void(size_t, Control&)>& work) {
    const std::vector<size_t> order = longest_first(works);
    std::vector<Control> controls(works.size());
    Watch watch(works, controls, progress);
    {
        const nb::gil_scoped_release release;
        run_parallel(
            int64_t(works.size()), n_threads,
            [&](int64_t i) {
                const size_t member = order[size_t(i)];
                Control& control = controls[member];
                if (!control.cancelled) work(member, control);
                control.epochs_done = int64_t(works[member].n_epochs);  // also where it stopped early or gave up
            },
            std::ref(watch));
    }
    if (watch.error) std::rethrow_exception(watch.error);
    if (!progress.is_none()) progress(1.0);
}

}  // namespace extranets
