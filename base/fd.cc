#include "base/fd.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/error.h"

namespace dtl {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

std::string read_file(const std::string& path, std::size_t limit_bytes) {
  const std::string attempted = fmt::format("cannot read '{}'", path);
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) throw system_error(attempted, Exit::kBadInput);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw system_error(attempted, Exit::kBadInput);
  if (S_ISDIR(status.st_mode)) throw Error(Exit::kBadInput, attempted, "it is a directory");
  std::string bytes;
  std::string chunk(64 * 1024, '\0');
  for (;;) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error(attempted, Exit::kBadInput);
    if (n == 0) return bytes;
    bytes.append(chunk, 0, static_cast<std::size_t>(n));
    if (bytes.size() > limit_bytes) {
      throw Error(Exit::kBadInput, attempted,
                  fmt::format("it is larger than the limit of {} bytes", limit_bytes));
    }
  }
}

Error cannot_write(const std::string& path, const Error& cause) {
  const bool is_full = cause.reason() == errno_text(ENOSPC) || cause.reason() == errno_text(EDQUOT);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return Error(Exit::kCannotWrite, fmt::format("cannot write '{}'", path), cause.reason(),
               is_full ? "df -h " + (folder.empty() ? "." : folder) : "");
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".tmp";
  Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.valid()) throw cannot_write(path, system_error(""));
  try {
    write_all(fd.get(), bytes);
  } catch (const Error& error) {
    ::unlink(temporary.c_str());
    throw cannot_write(path, error);
  }
  if (::fsync(fd.get()) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const Error error = cannot_write(path, system_error(""));
    ::unlink(temporary.c_str());
    throw error;
  }
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("cannot write", Exit::kIo);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
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

}  // namespace dtl
