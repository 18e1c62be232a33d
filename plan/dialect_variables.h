#pragma once
// Variables that programs written for one other launcher look for, and that others had better not
// see: --compat. Pure.

#include <string_view>
#include <vector>

#include "plan/environment.h"
#include "plan/request/request.h"

namespace dtl {

// "ompi,horovod" -> those two. Throws Error(kUsage) with the nearest name for any other.
std::vector<Dialect> parse_dialects(std::string_view text);

// What `dialect` calls the rank's place in the job.
Variables dialect_variables(Dialect dialect, const RankIdentity& identity);

}  // namespace dtl
