// MPI_Init leaves these traces, which loading does not:
//  - mca_*.so, the components of Open MPI, mapped: all of Open MPI 1 to 4, and those of 5 that are
//    built as files.
//  - sm_segment.* (Open MPI 5) or vader_segment.* (older), mapped: memory that ranks of a node
//    share. Not with --mca btl self.
//  - /dev/shm/open_mpi.NNNN, removed but still open: whether shm_open(3) works (4.1 and 5).
// In Open MPI 5 the components are inside its library, so none of them appears in the maps.
#include "agent/node/unserved_mpi.h"

#include <filesystem>
#include <fstream>
#include <string_view>

#include "agent/node/mpi_library.h"

namespace dtl {
namespace {

namespace fs = std::filesystem;

// Of a line of /proc/PID/maps: the fields before it have no slash. Empty: no file.
std::string_view mapped_path(std::string_view line) {
  const std::size_t slash = line.find('/');
  return slash == line.npos ? std::string_view() : line.substr(slash);
}

bool is_trace_of_init(std::string_view name) {
  const bool is_component = name.starts_with("mca_") && name.ends_with(".so");
  return is_component || name.starts_with("sm_segment.") || name.starts_with("vader_segment.");
}

bool holds_trace_of_init(const std::string& process_folder) {
  std::error_code failed;
  for (fs::directory_iterator entry(process_folder + "/fd", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code gone;  // closed since
    if (fs::read_symlink(entry->path(), gone).string().starts_with("/dev/shm/open_mpi.")) {
      return true;
    }
  }
  return false;
}

// With which the process was started.
bool has_variable(const std::string& process_folder, std::string_view name) {
  std::ifstream environment(process_folder + "/environ");
  for (std::string variable; std::getline(environment, variable, '\0');) {
    if (variable.starts_with(name) && variable.substr(name.size(), 1) == "=") return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> unserved_mpi(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::string library;
  bool has_trace = false;
  std::ifstream maps(folder + "/maps");
  for (std::string line; std::getline(maps, line) && !(has_trace && !library.empty());) {
    const std::string_view path = mapped_path(line);
    const std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
    if (library.empty() && is_open_mpi(name)) library = path;
    has_trace = has_trace || is_trace_of_init(name);
  }
  if (library.empty()) return std::nullopt;
  if (!has_trace && !holds_trace_of_init(folder)) return std::nullopt;
  // dtpmix serves the rank, or an mpirun or srun inside the rank serves what it starts. Otherwise
  // the environments of ranks have no PMIX_* (plan/environment.cc).
  if (has_variable(folder, "PMIX_NAMESPACE")) return std::nullopt;
  return library;
}

bool is_offered_pmi(pid_t process) {
  return has_variable("/proc/" + std::to_string(process), "PMI_FD");
}

}  // namespace dtl
