// For warnings that may concern many hosts of a job.
#include "plan/request/name_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/text.h"

namespace dtl {

std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  const std::size_t shown = std::min(kShown, names.size());
  const std::string text = join(std::span(names).first(shown), ", ");
  return names.size() == shown ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

}  // namespace dtl
