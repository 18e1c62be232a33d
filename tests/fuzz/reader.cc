#include "tests/fuzz/reader.h"

#include <fcntl.h>
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>

#include "base/fd.h"

namespace dtl::fuzz {

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "dtl-fuzz-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::write(const std::string& name, const std::string& bytes) const {
  const std::string path = file(name);
  std::filesystem::remove(path);  // some file systems flush on truncation
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  write_all(fd.get(), bytes);
  return path;
}

void require(bool holds, const char* promise) {
  if (!holds) throw std::runtime_error(promise);
}

std::function<bool(const Error&)> names(const std::string& path) {
  return [path](const Error& error) {
    return error.attempted().starts_with(path) && !error.reason().empty();
  };
}

}  // namespace dtl::fuzz
