// access(2) checks permissions for the current user. A program that cannot be executed is skipped,
// as in shells.
#include "base/machine/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "base/text.h"

namespace dtl {

std::optional<std::string> find_program(std::string_view name, std::string_view path) {
  for (const std::string& folder : split(path, ':')) {
    if (!folder.starts_with('/')) continue;
    std::string file = folder + "/" + std::string(name);
    struct stat info {};
    const bool is_file = ::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode);
    if (is_file && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

std::string nearest_program(std::string_view name, std::string_view path) {
  std::vector<std::string> names;
  for (const std::string& folder : split(path, ':')) {
    std::error_code failed;  // a folder that is not there has no programs
    if (!folder.starts_with('/')) continue;
    for (std::filesystem::directory_iterator entry(folder, failed), end; entry != end;
         entry.increment(failed)) {
      if (failed) break;
      std::string found = entry->path().filename().string();
      // nearest() goes no further than three letters.
      if (found.size() <= name.size() + 3 && name.size() <= found.size() + 3) {
        names.push_back(std::move(found));
      }
    }
  }
  // A name of three letters is near to dozens.
  const std::string near = name.size() < 4 ? "" : nearest(name, names);
  return find_program(near, path) ? near : "";
}

}  // namespace dtl
