// Loops around read(2) and write(2) handle interrupted and partial calls; errors name the path.
#include "base/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace dtl {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

// Does not repeat close(2) after EINTR: Linux has already freed the number, and another thread may
// have reused it.
void Fd::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

namespace {

std::string read_all(const Fd& fd, const std::string& path, std::size_t limit_bytes) {
  std::string bytes;
  // Does not use the file's size: it is 0 in /proc, and a file may grow. Most files here are short.
  std::string chunk(4 * 1024, '\0');
  for (;;) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw cannot_read(path);
    if (n == 0) return bytes;
    bytes.append(chunk, 0, static_cast<std::size_t>(n));
    if (static_cast<std::size_t>(n) == chunk.size()) chunk.resize(64 * 1024);
    // Checked while reading, since a pipe has no size.
    if (bytes.size() > limit_bytes) {
      throw cannot_read(path, fmt::format("larger than the limit of {} bytes", limit_bytes),
                        "ls -l " + one_shell_word(path));
    }
  }
}

Error is_directory(const std::string& path) {
  return cannot_read(path, "a directory, not a file", "ls " + one_shell_word(path));
}

void require_regular(const std::string& path, const struct stat& status) {
  if (S_ISREG(status.st_mode)) return;
  if (S_ISDIR(status.st_mode)) throw is_directory(path);
  const char* kind = S_ISFIFO(status.st_mode)   ? "pipe"
                     : S_ISSOCK(status.st_mode) ? "socket"
                                                : "device";
  throw cannot_read(path, fmt::format("a {}, not a file", kind),
                    fmt::format("cat {} >FILE, and that file", one_shell_word(path)));
}

}  // namespace

std::string read_file(const std::string& path, std::size_t limit_bytes) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) throw cannot_read(path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw cannot_read(path);
  if (S_ISDIR(status.st_mode)) throw is_directory(path);
  return read_all(fd, path, limit_bytes);
}

Fd open_regular_file(const std::string& path) {
  struct stat status {};
  // Before open(2): opening a pipe waits for a writer, and opening a device may have an effect.
  if (::stat(path.c_str(), &status) != 0) throw cannot_read(path);
  require_regular(path, status);
  // The path may have changed since; opening must not wait then either.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) throw cannot_read(path);
  require_regular(path, status);
  return fd;
}

std::string read_regular_file(const std::string& path, std::size_t limit_bytes) {
  return read_all(open_regular_file(path), path, limit_bytes);
}

Error cannot_write(const std::string& path, const Error& cause) {
  // Compares the text: the Error may come from another thread, where errno is lost.
  const auto is = [&](int number) { return cause.reason() == errno_text(number); };
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = one_shell_word(parent.empty() ? "." : parent);
  std::string hint;
  if (is(ENOSPC) || is(EDQUOT)) hint = "df -h " + folder;
  if (is(EACCES) || is(EPERM)) hint = "ls -ld " + folder;
  if (is(ENOENT)) hint = "mkdir -p " + folder;
  return Error(Exit::kCannotWrite, printable(path) + ": cannot write", cause.reason(), hint);
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // another process may set O_NONBLOCK on a shared terminal
      pollfd room{fd, POLLOUT, 0};
      ::poll(&room, 1, -1);
      continue;
    }
    if (n < 0) throw system_error("cannot write", Exit::kIo);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void GatheredWrite::add(std::string_view piece) {
  if (piece.empty()) return;
  pieces_.push_back({const_cast<char*>(piece.data()), piece.size()});  // writev() only reads it
  left_ += piece.size();
}

int GatheredWrite::write_some(int fd) {
  // writev(2) accepts at most IOV_MAX pieces.
  const std::size_t count = std::min<std::size_t>(pieces_.size() - next_, IOV_MAX);
  const ssize_t n = ::writev(fd, pieces_.data() + next_, static_cast<int>(count));
  // The caller checks left(), so an interrupted call counts as writing nothing.
  if (n < 0) return errno == EINTR ? 0 : errno;
  auto written = static_cast<std::size_t>(n);
  left_ -= written;
  while (written > 0) {
    iovec& piece = pieces_[next_];
    const std::size_t size = std::min(written, piece.iov_len);
    piece.iov_base = static_cast<char*>(piece.iov_base) + size;
    piece.iov_len -= size;
    written -= size;
    if (piece.iov_len == 0) ++next_;
  }
  return 0;
}

void set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
    throw system_error("cannot make a descriptor non-blocking");
  }
}

void set_close_on_exec(int fd, bool on) {
  if (::fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) < 0) {
    throw system_error("cannot change a descriptor's close-on-exec flag");
  }
}

SocketPair make_socketpair(int type) {
  int fds[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) != 0) {
    throw system_error("cannot create a socket pair");
  }
  return {Fd(fds[0]), Fd(fds[1])};
}

Pipe make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) throw system_error("cannot create a pipe");
  return {Fd(fds[0]), Fd(fds[1])};
}

DescriptorUse descriptor_use() {
  DescriptorUse use;
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  use.soft = limit.rlim_cur;
  use.hard = limit.rlim_max;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
  if (!folder) return use;
  while (::readdir(folder.get()) != nullptr) ++use.open;
  constexpr std::size_t kOthers = 3;  // ".", ".." and the folder's own
  use.open -= std::min(use.open, kOthers);
  return use;
}

}  // namespace dtl
