#pragma once
// Inheritance: which variables of dtlaunch's own environment go to the ranks. -genvall, -genvnone
// and -genvlist say it for the job, -envall and the like for one program. Without any, all of them
// go. Pure.

#include <optional>
#include <string>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

struct Inheritance {
  bool all = true;
  std::vector<std::string> names;  // where not all: these
};

// The variables that go. With `all`, those that belong to the login host alone are left out (plan's
// forwardable()). A variable that is named goes whatever it is: the user has asked for it.
Variables inherited_by(const Inheritance& inheritance, const Variables& environment);

// "all", "none" or "list:A,B", as in HYDRA_ENV; nullopt for anything else.
std::optional<Inheritance> parse_inheritance(const std::string& text);

}  // namespace dtl
