// HYDRA_ENV, the job file's `inherit` and the options all use this, so they accept the same words.
#include "launcher/options/inheritance.h"

#include <algorithm>

#include "base/text.h"
#include "plan/environment.h"

namespace dtl {

Variables inherited_by(const Inheritance& inheritance, const Variables& environment) {
  if (inheritance.all) return forwardable(environment);
  Variables kept;
  for (const auto& variable : environment) {
    const auto& names = inheritance.names;
    if (std::find(names.begin(), names.end(), variable.first) != names.end()) {
      kept.push_back(variable);
    }
  }
  return kept;
}

std::optional<Inheritance> parse_inheritance(const std::string& text) {
  if (text == "all") return Inheritance{};
  if (text == "none") return Inheritance{false, {}};
  constexpr std::string_view kList = "list:";
  if (!text.starts_with(kList)) return std::nullopt;
  Inheritance listed{false, {}};
  for (const std::string& name : split(text.substr(kList.size()), ',')) {
    if (trim(name).empty()) continue;
    if (!is_variable_name(trim(name))) return std::nullopt;
    listed.names.emplace_back(trim(name));
  }
  return listed;
}

}  // namespace dtl
