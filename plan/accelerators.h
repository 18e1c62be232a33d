#pragma once
// Whether ranks compute on the CPU because there is nothing else that they could use. Pure.

#include <string>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

// devices: of all nodes of the job, as NodeFacts names them. False if one of them is not hidden
// from the ranks (CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES), or if the command or a variable asks
// for DeepSpeed, which accelerate leaves out once it is told to use the CPU.
bool computes_on_cpu(const std::vector<std::string>& devices,
                     const std::vector<std::string>& command, const Variables& inherited,
                     const Variables& set);

}  // namespace dtl
