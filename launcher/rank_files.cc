#include "launcher/rank_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace dtl {
namespace {

int write_out(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return errno;
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

}  // namespace

std::optional<std::string> RankFiles::write(int rank, const LabelFacts& facts,
                                            std::string_view bytes) {
  auto [named, is_new] = paths_.try_emplace(rank);
  if (is_new) named->second = pattern_.text(facts, stream_, 0);
  const std::string& path = named->second;
  File& file = files_[path];
  if (!file.fd.valid() && !file.told) {
    file.fd = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666));
  }
  const int problem = file.fd.valid() ? write_out(file.fd.get(), bytes) : errno;
  if (problem == 0 || file.told) return std::nullopt;
  file.told = true;
  return fmt::format("cannot write '{}': {}; the job goes on without it", path,
                     errno_text(problem));
}

}  // namespace dtl
