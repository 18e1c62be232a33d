#pragma once
// Decides whether the ranks of a job can use nothing but CPUs. The plan then sets
// ACCELERATE_USE_CPU: without it accelerate has each rank train a copy of its own, and the job
// still ends with status 0. Pure.

#include <string>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

// devices: those of all nodes of the job, as in NodeFacts. One usable device on any node is enough
// for false. CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES may hide devices. Also false if the
// command or a variable asks for DeepSpeed, which accelerate would switch off on CPUs.
bool computes_on_cpu(const std::vector<std::string>& devices,
                     const std::vector<std::string>& command, const Variables& inherited,
                     const Variables& set);

}  // namespace dtl
