#pragma once
// Fd: owns one file descriptor and closes it once. Not thread-safe; move only.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace dtl {

class Error;

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

// Whole file as bytes. Throws Error(kBadInput) naming the path when it is missing, a directory,
// unreadable or larger than limit_bytes.
std::string read_file(const std::string& path, std::size_t limit_bytes);

// Error(kCannotWrite) naming the path, for one that writing it met; its hint for a full disk.
Error cannot_write(const std::string& path, const Error& cause);

// Writes path.tmp, fsyncs, renames over path. Throws Error(kCannotWrite) naming the path.
void write_file_atomically(const std::string& path, std::string_view bytes);

// Writes all bytes to a blocking descriptor, retrying EINTR. Throws Error(kIo).
void write_all(int fd, std::string_view bytes);

void set_nonblocking(int fd);
void set_close_on_exec(int fd, bool on);

struct SocketPair {
  Fd first, second;
};
// A connected, CLOEXEC unix socket pair of the given type (SOCK_STREAM, SOCK_SEQPACKET).
SocketPair make_socketpair(int type);

struct Pipe {
  Fd read_end, write_end;
};
Pipe make_pipe();  // CLOEXEC

}  // namespace dtl
