#pragma once
// Fd: owns one file descriptor and closes it once. Not thread-safe; move only. Beside it: how
// descriptors are made, read and written here. Each is close-on-exec from birth, since another
// thread may start a program at any moment.

#include <sys/uio.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtl {

class Error;

class Fd {
 public:
  Fd() = default;
  // Takes the descriptor over; -1 is none.
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
// The same of a file only: a pipe, a device or a socket, which reading might wait for or never end
// on, is refused by name.
std::string read_regular_file(const std::string& path, std::size_t limit_bytes);
// Opens such a file for reading, without reading it. Throws Error(kBadInput).
Fd open_regular_file(const std::string& path);

// Error(kCannotWrite) naming the path, for one that writing it met; its hint for a full disk.
Error cannot_write(const std::string& path, const Error& cause);

// Writes all bytes, waiting for a descriptor that does not block. Throws Error(kIo).
void write_all(int fd, std::string_view bytes);

// Bytes that lie in several places, written in order without being copied together. They must stay
// where they are until left() is 0.
class GatheredWrite {
 public:
  void add(std::string_view piece);
  std::size_t left() const { return left_; }  // bytes
  // Writes some of them. Returns 0, or errno: EAGAIN when the descriptor is full.
  int write_some(int fd);

 private:
  std::vector<iovec> pieces_;
  std::size_t next_ = 0;  // of pieces_
  std::size_t left_ = 0;
};

// Of the open file, so every process that shares it sees the change. Throws Error(kOs), as all
// below.
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
