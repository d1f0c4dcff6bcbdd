// The parts of the extension module; bindings.cpp puts them together.
#pragma once

#include <nanobind/nanobind.h>

namespace extranets {

void bind_training(nanobind::module_& m);  // Training, train_all, train_variational, gradient
void bind_packed(nanobind::module_& m);  // Packed: forward passes of an ensemble
void bind_pbp(nanobind::module_& m);  // probabilistic back-propagation

}  // namespace extranets
