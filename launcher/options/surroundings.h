#pragma once
// Surroundings: where dtlaunch was started, and what it may ask there.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/request/host.h"
#include "plan/request/request.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

struct Surroundings {
  Variables environment;
  std::string working_directory;  // absolute
  std::string program_directory;  // where dtlaunch itself lies
  std::uint32_t umask = 022;
  bool has_token = false;  // of a job whose nodes find each other
  // What --discover lists. Throws Error.
  std::function<std::vector<Host>(const std::string&)> discover = {};
  // What a scheduler's own program says; nullopt without an answer.
  std::function<std::optional<std::string>(const ToolQuestion&)> ask_tool = {};
};

// Those of this process, without the functions. Throws Error(kOs).
Surroundings current_surroundings();
// The value of a variable; nullptr: there is none.
const std::string* find_variable(const Variables& environment, std::string_view wanted);

}  // namespace dtl
