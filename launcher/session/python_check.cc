// A virtual environment is in a folder of one host, or of a file system that another host lacks.
// Its activation sets a variable that ranks inherit everywhere. On such hosts PATH then finds the
// system's Python, often without the packages.
#include "launcher/session/python_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/machine/python_version.h"
#include "base/text.h"
#include "plan/environment.h"
#include "plan/request/name_list.h"
#include "wire/field_kinds.h"

namespace dtl {
namespace {

// Whether the wire can carry this text.
bool can_be_asked(const std::string& text) {
  return !text.empty() && text.size() <= kMaxTextBytes;
}

// Several tasks may be on one host.
void add_once(std::vector<std::string>& hosts, const std::string& host) {
  const bool is_new = std::find(hosts.begin(), hosts.end(), host) == hosts.end();
  if (is_new) hosts.push_back(host);
}

std::string as_path(const std::string& program, const std::string& folder) {
  if (program.find('/') == program.npos) return program;
  return (std::filesystem::path(folder) / program).lexically_normal().string();
}

}  // namespace

PythonCheck::PythonCheck(const Request& request) {
  for (const Program& program : request.programs) {
    for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
      const std::string folder = given_variable(request, program, name);
      const bool known = std::any_of(environments_.begin(), environments_.end(),
                                     [&](const auto& each) { return each.folder == folder; });
      if (known || !folder.starts_with('/') || !can_be_asked(folder)) continue;
      environments_.push_back({name, folder, {}});
    }
    if (program.command.empty()) continue;
    Python python;
    python.path = given_variable(request, program, "PATH");
    const std::string file = as_path(program.command[0], program.working_directory);
    python.name = python_of(file, python.path);
    if (!can_be_asked(python.name) || !can_be_asked(python.path)) continue;
    python.version = python_version(python.name, python.path);
    const bool known = std::any_of(pythons_.begin(), pythons_.end(), [&](const Python& each) {
      return each.name == python.name && each.path == python.path;
    });
    if (!known && !python.version.empty()) pythons_.push_back(std::move(python));
  }
}

std::vector<Fact> PythonCheck::parameters() const {
  std::vector<Fact> parameters;
  for (const Environment& each : environments_) parameters.push_back({"directory", each.folder});
  for (const Python& each : pythons_) {
    parameters.push_back({"PATH", each.path});
    parameters.push_back({"python", each.name});
  }
  return parameters;
}

void PythonCheck::hear(const std::string& host, const Examined& answer) {
  std::size_t environment = 0, python = 0;
  for (const Fact& fact : answer.facts) {
    if (fact.name == "directory" && environment < environments_.size()) {
      Environment& each = environments_[environment++];
      if (fact.value.empty()) add_once(each.missing_on, host);
    } else if (fact.name == "python" && python < pythons_.size()) {
      Python& each = pythons_[python++];
      if (!fact.value.empty() && fact.value != each.version) {
        add_once(each.others[printable(fact.value)], host);
      }
    }
  }
}

std::optional<std::string> PythonCheck::notice() const {
  std::vector<std::string> parts;
  for (const Environment& each : environments_) {
    if (each.missing_on.empty()) continue;
    parts.push_back(fmt::format("{} ({}) is missing on {}", printable(each.folder), each.variable,
                                first_names(each.missing_on)));
  }
  for (const Python& each : pythons_) {
    for (const auto& [version, hosts] : each.others) {
      parts.push_back(fmt::format("{} is Python {} here and {} on {}", printable(each.name),
                                  each.version, version, first_names(hosts)));
    }
  }
  if (parts.empty()) return std::nullopt;
  return fmt::format("the hosts' Python differs: {}", join(parts, "; "));
}

}  // namespace dtl
