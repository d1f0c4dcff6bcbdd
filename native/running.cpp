#include "running.hpp"

#include <algorithm>
#include <exception>

#include "parallel.hpp"

namespace extranets {

namespace {

struct Watch {
    Control& control;
    const nb::object& progress;
    double total;
    std::exception_ptr error;

    void operator()() {
        const nb::gil_scoped_acquire gil;
        try {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            if (!progress.is_none()) progress(std::min(1.0, double(control.epochs_done.load()) / total));
        } catch (...) {
            if (!error) error = std::current_exception();
            control.cancelled = true;
        }
    }
};

}  // namespace

void run_members(size_t n, double n_epochs, int n_threads, const nb::object& progress,
                 const std::function<void(size_t, Control&)>& work) {
    Control control;
    Watch watch{control, progress, std::max(1.0, double(n) * n_epochs), nullptr};
    {
        const nb::gil_scoped_release release;
        run_parallel(
            int64_t(n), n_threads,
            [&](int64_t i) {
                if (!control.cancelled) work(size_t(i), control);
            },
            std::ref(watch));
    }
    if (watch.error) std::rethrow_exception(watch.error);
}

}  // namespace extranets
