// Searches on the node, since hosts may have different distributions. ld.so only warns about an
// entry of LD_PRELOAD that it cannot find, so the launcher must know before.
#include "agent/node/find_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

#include "agent/node/examine_pmix.h"
#include "agent/node/hidden_mpi.h"
#include "agent/node/mpi_library.h"
#include "agent/node/open_mpi_prefix.h"
#include "base/machine/python_version.h"
#include "base/text.h"

namespace dtl {
namespace {

namespace fs = std::filesystem;

bool is_folder(const std::string& path) {
  std::error_code failed;
  return fs::is_directory(path, failed);
}

bool is_file(const std::string& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

// "libjemalloc.so.2" -> {2}; nullopt if `name` is not a version of `library`. As numbers, since
// .so.10 is newer than .so.9.
std::optional<std::vector<std::int64_t>> version_of(std::string_view name,
                                                    std::string_view library) {
  if (!name.starts_with(library)) return std::nullopt;
  name.remove_prefix(library.size());
  if (name.empty()) return std::vector<std::int64_t>{};
  if (name.front() != '.') return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const std::string& part : split(name.substr(1), '.')) {
    const auto number = parse_integer(part, 0, 1'000'000'000);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

// A package without development files only has versioned names; an unversioned name wins.
std::string newest_in(const std::string& folder, const std::string& library) {
  if (is_file(folder + "/" + library)) return folder + "/" + library;
  std::error_code failed;
  std::vector<std::int64_t> best;
  std::string found;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    const auto version = version_of(name, library);
    if (!version || !is_file(entry.path().string())) continue;
    if (found.empty() || *version > best) {
      best = *version;
      found = folder + "/" + name;
    }
  }
  return found;
}

std::string find_library(const std::string& library, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    const std::string found = newest_in(folder, library);
    if (!found.empty()) return found;
  }
  return {};
}

// As ld.so treats an entry of LD_PRELOAD: a path if it has a slash, else a name to look for.
std::string find_file(const std::string& name, const std::vector<std::string>& folders) {
  if (name.find('/') != std::string::npos) return is_file(name) ? name : std::string();
  for (const std::string& folder : folders) {
    if (is_file(folder + "/" + name)) return folder + "/" + name;
  }
  return {};
}

std::string mpi_fact(const MpiLibrary& mpi) {
  if (mpi.kind == MpiKind::kNone) return {};
  return std::string(to_text(mpi.kind)) + " " + mpi.name;
}

// The questions about the MPIs of programs, each after the paths that its ranks will have.
class MpiQuestions {
 public:
  std::string search_path, library_path, working_directory;

  MpiLibrary ask(const std::string& program) {
    const MpiLibrary found = find_mpi(program, search_path, library_path, working_directory);
    has_open_mpi_ |= found.kind == MpiKind::kOpenMpi;
    if (found.kind == MpiKind::kOpenMpi || found.kind == MpiKind::kHidden) {
      served_by_pmix_.push_back(
          {program, search_path, library_path, working_directory, found.path});
    }
    return found;
  }
  bool may_need_pmix() const { return !served_by_pmix_.empty(); }
  bool needs_pmix() const { return has_open_mpi_; }
  // Their libraries become known.
  void find_open_mpis() {
    for (Asked& each : served_by_pmix_) {
      if (!each.open_mpi.empty()) continue;
      each.open_mpi =
          find_open_mpi(each.program, each.search_path, each.library_path, each.working_directory);
    }
  }
  // Where their Open MPIs may have brought libpmix along.
  std::vector<std::string> pmix_folders() const {
    std::vector<std::string> folders;
    for (const Asked& each : served_by_pmix_) {
      for (auto& folder : dtl::pmix_folders(each.open_mpi, each.library_path)) {
        folders.push_back(std::move(folder));
      }
    }
    return folders;
  }
  // Empty if the programs have different ones.
  std::string open_mpi_prefix() const {
    std::set<std::string> libraries;
    for (const Asked& each : served_by_pmix_) libraries.insert(each.open_mpi);
    return libraries.size() == 1 ? moved_open_mpi_prefix(*libraries.begin()) : std::string();
  }

 private:
  struct Asked {
    std::string program, search_path, library_path, working_directory;
    std::string open_mpi;  // its path, if known
  };
  std::vector<Asked> served_by_pmix_;
  bool has_open_mpi_ = false;  // a program that shows it
};

}  // namespace

std::vector<std::string> library_folders() {
#if defined(__x86_64__)
  const std::string multiarch = "x86_64-linux-gnu";
#elif defined(__aarch64__)
  const std::string multiarch = "aarch64-linux-gnu";
#else
  const std::string multiarch = "";
#endif
  // A user's own libraries precede the machine's, and libraries that an administrator added precede
  // the distribution's.
  std::vector<std::string> folders;
  if (const char* home = std::getenv("HOME")) folders.push_back(std::string(home) + "/.local/lib");
  for (const char* root : {"/usr/local/lib", "/usr/lib", "/lib"}) {
    if (!multiarch.empty()) folders.push_back(std::string(root) + "/" + multiarch);
    folders.push_back(std::string(root) + "64");
    folders.push_back(root);
  }
  // Intel's OpenMP (libiomp5.so): the first folder since its releases of 2024, the second before.
  for (const char* oneapi : {"/opt/intel/oneapi/compiler/latest/lib",
                             "/opt/intel/oneapi/compiler/latest/linux/compiler/lib/intel64_lin"}) {
    folders.push_back(oneapi);
  }
  return folders;
}

LibrariesFound find_libraries(const Examine& wanted, const std::string& own_folder) {
  std::vector<std::string> folders;
  for (const Fact& each : wanted.parameters) {
    if (each.name == "folder") folders.push_back(each.value);
  }
  for (std::string& folder : library_folders()) folders.push_back(std::move(folder));
  LibrariesFound found;
  MpiQuestions mpi;
  const auto tell = [&](const Fact& asked, const std::string& value) {
    found.answer.facts.push_back({asked.name, value});
  };
  for (const Fact& each : wanted.parameters) {
    if (each.name == "file") {
      tell(each, find_file(each.value, folders));
    } else if (each.name == "library") {
      tell(each, find_library(each.value, folders));
    } else if (each.name == "directory") {
      tell(each, is_folder(each.value) ? each.value : "");
    } else if (each.name == "PATH") {
      mpi.search_path = each.value;
    } else if (each.name == "LD_LIBRARY_PATH") {
      mpi.library_path = each.value;
    } else if (each.name == "cwd") {
      mpi.working_directory = each.value;
    } else if (each.name == "python") {
      tell(each, python_version(each.value, mpi.search_path));
    } else if (each.name == "mpi") {
      tell(each, mpi_fact(mpi.ask(each.value)));
    } else if (each.name == "pmix") {
      mpi.find_open_mpis();
      found.needs_pmix = each.value == "always" || mpi.needs_pmix();
      const PmixFound pmix = found.needs_pmix || mpi.may_need_pmix()
                                 ? examine_pmix(own_folder, mpi.pmix_folders())
                                 : PmixFound{};
      tell(each, pmix.answer);
      found.pmix_libraries = pmix.libraries;
      found.open_mpi_prefix = mpi.open_mpi_prefix();
    }
  }
  return found;
}

}  // namespace dtl
