#pragma once
// Surroundings: the environment, folders and mask that dtlaunch was started with, and the questions
// it may ask there. What describes a job takes them as a value, so tests can give others.

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
  // In the order in which they stand in `environ`.
  Variables environment;
  std::string working_directory;  // absolute
  std::string program_directory;  // where dtlaunch itself lies
  std::uint32_t umask = 022;
  bool has_token = false;  // of a job whose nodes find each other; never its value
  // The hosts that --discover lists; its argument is the option's value. Empty: nobody may ask.
  // Throws Error.
  std::function<std::vector<Host>(const std::string&)> discover = {};
  // What a scheduler's own program says; nullopt without an answer. Empty: nobody may ask.
  std::function<std::optional<std::string>(const ToolQuestion&)> ask_tool = {};
};

// Those of this process. The two functions stay empty: this room runs no programs, and
// launcher/run/job_agents.h fills them in. Throws Error(kOs).
Surroundings current_surroundings();
// The value of a variable; nullptr: there is none. It lives as long as `environment`.
const std::string* find_variable(const Variables& environment, std::string_view wanted);

}  // namespace dtl
