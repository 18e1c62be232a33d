// Checks the folder before a long run, so that the run does not fail at its end.
#include "trainer/files/output_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "trainer/files/folder_lock.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;

// Ignores the lock file of the calling run.
bool holds_files(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename() != kLockFile) return true;
  }
  return false;
}

// "model-2" for "model". The folder may hold the model that is read, so the hint must harm nobody.
std::string unused_name_like(const std::string& folder) {
  fs::path path = fs::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const bool has_name = path.has_filename() && path.filename() != "." && path.filename() != "..";
  const std::string stem = has_name ? path.string() : (path / "out").lexically_normal().string();
  for (int number = has_name ? 2 : 1;; ++number) {
    const std::string name = number == 1 ? stem : fmt::format("{}-{}", stem, number);
    std::error_code unreadable;
    if (!fs::exists(name, unreadable)) return name;
  }
}

}  // namespace

void refuse_file_as_folder(const std::string& folder) {
  std::error_code unreadable;
  const fs::file_status status = fs::status(folder, unreadable);
  if (!fs::exists(status) || fs::is_directory(status)) return;
  throw Error(Exit::kCannotWrite, fmt::format("{}: cannot write the output", folder),
              "it is a file, not a folder", "--output_dir " + one_shell_word(folder + "-out"));
}

void make_output_folder(const std::string& folder, bool overwrite) {
  const std::string attempted = fmt::format("{}: cannot write the output", folder);
  std::error_code error;
  refuse_file_as_folder(folder);
  fs::create_directories(folder, error);
  if (error) throw Error(Exit::kCannotWrite, attempted, error.message());
  if (!overwrite && holds_files(folder)) {
    throw Error(Exit::kCannotWrite, attempted,
                "the folder holds files already; --overwrite_output_dir would overwrite them",
                "--output_dir " + one_shell_word(unused_name_like(folder)));
  }
  if (::access(folder.c_str(), W_OK) != 0) throw system_error(attempted, Exit::kCannotWrite);
}

}  // namespace dtl::trainer
