#pragma once
// Inheritance: which variables of dtlaunch's environment the ranks get. -genvall, -genvnone and
// -genvlist set it for the job, -envall and similar options for one program. The default is all.
// Pure.

#include <optional>
#include <string>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

struct Inheritance {
  bool all = true;
  std::vector<std::string> names;  // without `all`: these
};

// The variables that ranks get. With `all`, leaves out those that concern only the login host
// (plan's forwardable()). Named variables are never left out: the user asked for them.
Variables inherited_by(const Inheritance& inheritance, const Variables& environment);

// "all", "none" or "list:A,B", as in HYDRA_ENV; nullopt for anything else.
std::optional<Inheritance> parse_inheritance(const std::string& text);

}  // namespace dtl
