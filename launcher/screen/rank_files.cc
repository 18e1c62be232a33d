// Files are found by path: O_TRUNC for a second rank of the same file would lose the first one's
// output.
#include "launcher/screen/rank_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

int write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    // EAGAIN, from a full pipe, is an error: the session's thread must not wait for its reader.
    if (n < 0 && errno != EINTR) return errno;
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

}  // namespace

std::optional<std::string> RankFiles::open(int rank, const LabelFacts& facts) {
  if (empty()) return std::nullopt;
  const std::string& path = paths_[rank] = pattern_.text(facts, stream_, began_);
  File& file = files_[path];
  // Opened for another rank, or failed before: nothing more to do.
  if (file.fd.valid() || file.told) return std::nullopt;
  // O_NONBLOCK: a named pipe without a reader is an error and does not block.
  const int fresh = append_ ? 0 : O_TRUNC;
  file.fd = Fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | fresh, 0666));
  return file.fd.valid() ? std::nullopt : complain(path, file, errno);
}

std::optional<std::string> RankFiles::write(int rank, std::string_view bytes) {
  const auto named = paths_.find(rank);
  if (named == paths_.end()) return std::nullopt;
  File& file = files_[named->second];
  const int problem = file.fd.valid() ? write_whole(file.fd.get(), bytes) : 0;
  return problem == 0 ? std::nullopt : complain(named->second, file, problem);
}

std::optional<std::string> RankFiles::complain(const std::string& path, File& file, int problem) {
  if (std::exchange(file.told, true)) return std::nullopt;
  return fmt::format("{}: cannot write: {}; the job goes on without it", printable(path),
                     errno_text(problem));
}

}  // namespace dtl
