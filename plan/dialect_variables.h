#pragma once
// Variables in which programs written for another launcher look for their rank (--compat). Set only
// on request, since a program that finds them may expect the rest of that launcher. Only torchrun's
// are set for every job (environment.cc). Pure.

#include <string_view>
#include <vector>

#include "plan/environment.h"
#include "plan/request/request.h"

namespace dtl {

// "ompi,horovod" -> those two; repeated names count once. Throws Error(kUsage) with the nearest
// name for any other.
std::vector<Dialect> parse_dialects(std::string_view text);

// The rank's place in the job under the names of `dialect`.
Variables dialect_variables(Dialect dialect, const RankIdentity& identity);

}  // namespace dtl
