// Without its texts, Open MPI says nothing about an error but that it has no text for it.
#include "agent/node/open_mpi_prefix.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

namespace dtl {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = 32 << 20;  // Open MPI 5 has 1 MB

// libopen-pal.so contains the folder that it was built for, as a string of C.
bool has_string(const fs::path& file, std::string_view text) {
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(file, failed);
  if (failed || size > kMostBytes) return false;
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  std::string wanted(1, '\0');
  wanted += text;
  wanted += '\0';
  return bytes.find(wanted) != bytes.npos;
}

bool is_built_for(const fs::path& folder, const fs::path& prefix) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().filename().string().starts_with("libopen-pal.so.")) {
      return has_string(entry.path(), prefix.string());
    }
  }
  return true;  // a kind that this does not know
}

}  // namespace

std::string moved_open_mpi_prefix(const std::string& library) {
  const fs::path folder = fs::path(library).lexically_normal().parent_path(),
                 prefix = folder.parent_path();
  std::error_code failed;
  if (!fs::is_regular_file(prefix / "share/openmpi/help-mpi-errors.txt", failed)) return {};
  return is_built_for(folder, prefix) ? std::string() : prefix.string();
}

}  // namespace dtl
