// Which variants of the kernels this build holds, and which of them this machine can run.
#pragma once

#include <string>
#include <vector>

#include "contract.hpp"

namespace extranets {

std::vector<std::string> built_variants();  // lowest first
std::vector<std::string> usable_variants();  // those this machine can run, lowest first
const Kernels& active_kernels();
void use_variant(const std::string& name);  // throws std::invalid_argument

}  // namespace extranets
