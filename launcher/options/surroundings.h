#pragma once
// Surroundings: the environment, folders and umask that dtlaunch was started with, and ways to ask
// other programs. Code that describes a job takes them as a value, so tests can supply others.

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
  // In the order of `environ`.
  Variables environment;
  std::string working_directory;  // absolute
  std::string program_directory;  // of dtlaunch's executable
  std::uint32_t umask = 022;
  bool has_token = false;  // for a job whose nodes find each other; never its value
  // The hosts that --discover lists; the argument is the option's value. Empty: must not be asked.
  // Throws Error.
  std::function<std::vector<Host>(const std::string&)> discover = {};
  // The answer of a scheduler's program; nullopt: none. Empty: must not be asked.
  std::function<std::optional<std::string>(const ToolQuestion&)> ask_tool = {};
};

// Those of this process. The two functions stay empty, because this room runs no programs;
// launcher/run/job_agents.h sets them. Throws Error(kOs).
Surroundings current_surroundings();
// The value of a variable; nullptr: not set. Valid while `environment` exists.
const std::string* find_variable(const Variables& environment, std::string_view wanted);

}  // namespace dtl
