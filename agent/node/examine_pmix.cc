// dtpmix is asked for its version. A host without libpmix answers by its dynamic loader instead.
#include "agent/node/examine_pmix.h"

#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "agent/node/run_program.h"
#include "base/machine/runtime_folder.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr auto kVersionPatience = std::chrono::seconds(3);  // on a cold network file system
constexpr std::size_t kMostVersion = 4 << 10;

// "dtpmix 0.2.0, libpmix 4.2.2" -> "4.2.2"; empty: another answer.
std::string libpmix_version(std::string_view line) {
  constexpr std::string_view kName = ", libpmix ";
  const std::size_t at = line.find(kName);
  if (!line.starts_with("dtpmix ") || at == line.npos) return {};
  const std::string version(trim(line.substr(at + kName.size())));
  const bool is_one = !version.empty() && std::isdigit(static_cast<unsigned char>(version[0])) != 0;
  return is_one ? version : std::string();
}

// "/usr/bin/dtpmix: error while loading shared libraries: libpmix.so.2: cannot open shared object
// file: No such file or directory" -> "libpmix.so.2 is missing".
std::string why_not(std::string_view line) {
  constexpr std::string_view kLoading = "error while loading shared libraries: ";
  if (const std::size_t at = line.find(kLoading); at != line.npos) {
    line.remove_prefix(at + kLoading.size());
    const std::size_t colon = line.find(": cannot open shared object file");
    if (colon != line.npos) return printable(line.substr(0, colon)) + " is missing";
  }
  return "dtpmix cannot run: " + printable(line);
}

std::string ask_version(const std::string& program, const std::string& libraries) {
  RunOptions options;
  options.with_errors = true;
  options.library_folder = libraries;
  const ProgramOutput output =
      run_program({program, "--version"}, kVersionPatience, kMostVersion, options);
  const std::string line = split(trim(output.text), '\n').front();
  const std::string version = libpmix_version(line);
  if (!version.empty()) return version;
  if (!line.empty()) return why_not(line);
  return "dtpmix " +
         (output.problem.empty() ? "does not tell its version" : "cannot run: " + output.problem);
}

bool is_version(const std::string& answer) {
  return std::isdigit(static_cast<unsigned char>(answer[0])) != 0;
}

// libpmix 3 knows no groups, and does not say which ranks connect.
bool is_recent(const std::string& answer) {
  return is_version(answer) && std::strtol(answer.c_str(), nullptr, 10) >= 4;
}

}  // namespace

PmixFound examine_pmix(const std::string& own_folder, const std::vector<std::string>& folders) {
  const std::string program = own_folder + "/dtpmix";
  if (::access(program.c_str(), X_OK) != 0) return {"there is no dtpmix beside dtagent", ""};
  // On a read-only host without a HOME, such as a pod.
  if (const std::string problem = runtime_problem(); !problem.empty()) {
    return {"there is no folder for dtpmix's files: " + printable(problem), ""};
  }
  PmixFound old;
  for (const std::string& folder : folders) {
    PmixFound found{ask_version(program, folder), folder};
    if (is_recent(found.answer)) return found;
    if (old.answer.empty() && is_version(found.answer)) old = std::move(found);
  }
  PmixFound found{ask_version(program, ""), ""};
  return is_version(found.answer) || old.answer.empty() ? found : old;
}

}  // namespace dtl
