#pragma once
// Decides whether ranks can use nothing but CPUs. Pure.

#include <string>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

// devices: of all nodes of the job, as in NodeFacts. Returns false if the ranks can see one of them
// (CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES may hide it), or if the command or a variable asks
// for DeepSpeed, which accelerate does not use on CPUs.
bool computes_on_cpu(const std::vector<std::string>& devices,
                     const std::vector<std::string>& command, const Variables& inherited,
                     const Variables& set);

}  // namespace dtl
