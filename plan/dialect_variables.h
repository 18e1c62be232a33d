#pragma once
// Variables in which programs written for one other launcher look for their place (--compat). They
// are set on request alone, since a program that finds them may expect the rest of that launcher.
// Only torchrun's are set for every job (environment.cc). Pure.

#include <string_view>
#include <vector>

#include "plan/environment.h"
#include "plan/request/request.h"

namespace dtl {

// "ompi,horovod" -> those two; a name that comes again counts once. Throws Error(kUsage) with the
// nearest name for any other.
std::vector<Dialect> parse_dialects(std::string_view text);

// What `dialect` calls the rank's place in the job.
Variables dialect_variables(Dialect dialect, const RankIdentity& identity);

}  // namespace dtl
