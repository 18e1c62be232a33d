#pragma once
// Which of the launcher's own variables go to the ranks: -genvall, -genvnone, -genvlist, and the
// same for one program. Pure.

#include <optional>
#include <string>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

struct Inheritance {
  bool all = true;
  std::vector<std::string> names;  // where not all: these
};

// All: less what belongs to the login host; by name: whatever it is.
Variables inherited_by(const Inheritance& inheritance, const Variables& environment);

// "all", "none" or "list:A,B", as in HYDRA_ENV; nullopt for anything else.
std::optional<Inheritance> parse_inheritance(const std::string& text);

}  // namespace dtl
