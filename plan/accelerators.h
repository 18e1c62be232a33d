#pragma once
// Decides whether the ranks of a job can only use CPUs. The plan then sets ACCELERATE_USE_CPU:
// without it each rank trains a separate model under accelerate, and the job still exits with
// status 0. Pure.

#include <string>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

// devices: those of all nodes of the job, as in NodeFacts. False if any node has a usable device;
// CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES may hide devices. Also false if the command or a
// variable requests DeepSpeed, which accelerate would switch off on CPUs.
bool computes_on_cpu(const std::vector<std::string>& devices,
                     const std::vector<std::string>& command, const Variables& inherited,
                     const Variables& set);

}  // namespace dtl
