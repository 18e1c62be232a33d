// An environment is two things: links to the Python that has made it, and packages for its version.
// So a host needs that Python at the same path, and the environment's folder at its own.
#include "launcher/request/code_folders.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/fd.h"
#include "base/machine/python_version.h"
#include "base/text.h"

namespace dtl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSettings = 64 << 10;  // of pyvenv.cfg, which has a few lines

std::string absolute_folder(const std::string& path, const std::string& directory) {
  std::string folder = (fs::path(directory) / path).lexically_normal().string();
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return folder;
}

bool is_folder_here(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string check_synced(const std::string& typed, const std::string& directory) {
  const std::string folder = absolute_folder(typed, directory);
  const std::string option = "--sync " + typed;
  if (!is_folder_here(folder)) throw option_error(option, "not a folder", "--sync .");
  if (folder == "/") throw option_error(option, "it is the whole file system", "--sync .");
  // The host names the folder in a line.
  if (folder.find('\n') != std::string::npos) {
    throw option_error(option, "its name has a line end", "--sync .");
  }
  return folder;
}

// "home" of pyvenv.cfg: the folder of the Python that has made the environment.
std::string setting(const std::string& text, std::string_view wanted) {
  for (const std::string& line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || trim(line.substr(0, equals)) != wanted) continue;
    return std::string(trim(std::string_view(line).substr(equals + 1)));
  }
  return {};
}

std::string choose_venv(const std::string& typed, const std::string& beside,
                        const Surroundings& around) {
  if (typed != "auto") return absolute_folder(typed, around.working_directory);
  const std::string* active = find_variable(around.environment, "VIRTUAL_ENV");
  if (active != nullptr && active->starts_with('/')) return absolute_folder(*active, "/");
  const std::string usual = beside + "/.venv";
  if (is_folder_here(usual)) return usual;
  throw option_error("--venv auto",
                     fmt::format("no environment is active, and there is no {}", usual),
                     "python3 -m venv " + one_shell_word(usual));
}

void fill_in_venv(const std::string& typed, CodeFolders& folders) {
  const std::string option = "--venv " + typed;
  const std::string file = folders.venv + "/pyvenv.cfg";
  const std::string python = folders.venv + "/bin/python";
  if (::access(file.c_str(), R_OK) != 0 || ::access(python.c_str(), X_OK) != 0) {
    throw option_error(
        option,
        fmt::format("not a virtual environment: {} has no pyvenv.cfg and bin/python", folders.venv),
        "python3 -m venv " + one_shell_word(folders.venv));
  }
  folders.python_version = python_version(python, "");
  if (folders.python_version.empty()) {
    throw option_error(option, "cannot tell the version of its Python",
                       one_shell_word(python) + " --version");
  }
  const std::string home = setting(read_regular_file(file, kMostSettings), "home");
  folders.python = fmt::format("{}/python{}", home, folders.python_version);
  if (::access(folders.python.c_str(), X_OK) == 0) return;
  // Some builds have no name with the version.
  std::error_code failed;
  folders.python = fs::canonical(python, failed);
}

void put_first_on_path(Variables& variables, const CodeFolders& folders) {
  std::string path = "/usr/local/bin:/usr/bin:/bin";
  std::erase_if(variables, [&](const auto& variable) {
    if (variable.first == "PATH") path = variable.second;
    // Either would make another Python, or other packages, of the environment's.
    return variable.first == "PATH" || variable.first == "VIRTUAL_ENV" ||
           variable.first == "PYTHONHOME";
  });
  variables.emplace_back("PATH", folders.venv + "/bin:" + path);
  variables.emplace_back("VIRTUAL_ENV", folders.venv);
}

// Ranks start in the folder, or where in it dtlaunch was started.
void choose_ranks_folder(const CommandLine& line, const std::string& directory,
                         const std::string& synced, Request& request) {
  const bool is_in_it = directory == synced || directory.starts_with(synced + "/");
  if (is_in_it || !line.working_directory.empty()) return;
  for (std::size_t i = 0; i < request.programs.size(); ++i) {
    if (line.programs[i].working_directory.empty()) request.programs[i].working_directory = synced;
  }
}

}  // namespace

CodeFolders take_code_folders(const CommandLine& line, const Surroundings& around,
                              Request& request) {
  CodeFolders folders;
  const Starting& starting = line.starting;
  if (!starting.sync.empty()) {
    folders.synced = check_synced(starting.sync, around.working_directory);
    choose_ranks_folder(line, around.working_directory, folders.synced, request);
  }
  if (!starting.venv.empty()) {
    const std::string& beside = folders.synced.empty() ? around.working_directory : folders.synced;
    folders.venv = choose_venv(starting.venv, beside, around);
    fill_in_venv(starting.venv, folders);
    put_first_on_path(request.environment.inherited, folders);
    for (Program& program : request.programs) {
      if (program.inherited) put_first_on_path(*program.inherited, folders);
    }
  }
  return folders;
}

}  // namespace dtl
