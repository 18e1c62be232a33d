// A program is judged as the start of its rank will judge it: by the PATH of its environment, which
// options may have changed, and relative to its own working directory.
#include "launcher/request/start_checks.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/files/new_file.h"
#include "base/machine/find_program.h"
#include "base/text.h"
#include "plan/environment.h"

namespace dtl {
namespace {

// The files of a pattern whose folder is the same for all ranks: "out/%r.txt", and not "out/%r/a".
void check_folder_of(const std::string& pattern) {
  const std::filesystem::path plain = pattern.substr(0, pattern.find('%'));
  const std::string folder = plain.parent_path().string();
  if (folder.empty() || ::access(folder.c_str(), W_OK | X_OK) == 0) return;
  throw cannot_write(folder + "/" + std::filesystem::path(pattern).filename().string(),
                     system_error(pattern));
}

std::string cannot_run(const std::string& program) {
  return "cannot run " + one_shell_word(program);
}

void check_on_path(const std::string& name, const std::string& path) {
  for (const std::string& folder : split(path, ':')) {
    // Ranks look there from their own folders, which may not exist yet.
    if (!folder.starts_with('/')) return;
  }
  if (path.empty() || find_program(name, path)) return;
  const std::string near = nearest_program(name, path);
  throw Error(Exit::kNotFound, cannot_run(name), "not found on PATH",
              near.empty() ? "echo $PATH" : "the same command with " + near);
}

void check_file(const std::string& typed, const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    // A folder that this user may not enter is judged at the start, with the rights of the ranks.
    if (errno != ENOENT && errno != ENOTDIR) return;
    throw Error(Exit::kNotFound, cannot_run(typed), "not found", "ls " + one_shell_word(folder));
  }
  if (S_ISDIR(info.st_mode)) {
    throw Error(Exit::kNotExecutable, cannot_run(typed), "it is a folder",
                "ls " + one_shell_word(path));
  }
  if (::access(path.c_str(), X_OK) == 0) return;
  throw Error(Exit::kNotExecutable, cannot_run(typed), "it is not executable",
              typed.ends_with(".py") ? "the same command with python3 " + one_shell_word(typed)
                                     : "chmod +x " + one_shell_word(path));
}

}  // namespace

void check_output_files(const OutputChoice& shown, const Reporting& reporting) {
  if (!reporting.report.empty()) check_new_file(reporting.report);
  if (!reporting.metrics_file.empty()) {
    if (reporting.metrics_file == reporting.report) {
      throw option_error("--metrics-file", "it is the file of --report", "--metrics-file job.prom");
    }
    check_new_file(reporting.metrics_file);
  }
  check_folder_of(shown.outfile);
  check_folder_of(shown.errfile);
}

void check_programs_here(const Request& request) {
  for (const Program& program : request.programs) {
    if (program.command.empty()) continue;
    const std::string& name = program.command[0];
    if (name.find('/') == std::string::npos) {
      check_on_path(name, given_variable(request, program, "PATH"));
    } else {
      check_file(name, name.starts_with('/') ? name : program.working_directory + "/" + name);
    }
  }
}

}  // namespace dtl
