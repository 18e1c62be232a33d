#pragma once
// Fd: owns one file descriptor and closes it once. Move only; not thread-safe. Below it: functions
// that create, read and write descriptors. All descriptors are close-on-exec from creation, since
// another thread may start a program at any moment.

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
  // Takes ownership of the descriptor; -1 is none.
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

// The whole file. Throws Error(kBadInput) naming the path if it is missing, a directory, unreadable
// or larger than limit_bytes.
std::string read_file(const std::string& path, std::size_t limit_bytes);
// The same, but throws for a pipe, a device or a socket, where reading might wait or never end.
std::string read_regular_file(const std::string& path, std::size_t limit_bytes);
// Opens a regular file for reading, without reading it. Throws Error(kBadInput).
Fd open_regular_file(const std::string& path);

// Turns an error from writing into Error(kCannotWrite) naming the path; with a hint if the disk is
// full.
Error cannot_write(const std::string& path, const Error& cause);

// Writes all bytes, also to a non-blocking descriptor. Throws Error(kIo).
void write_all(int fd, std::string_view bytes);

// Writes bytes from several places in order, without joining them. The bytes must stay in place
// until left() is 0.
class GatheredWrite {
 public:
  void add(std::string_view piece);
  std::size_t left() const { return left_; }  // bytes
  // Writes some bytes. Returns 0, or errno: EAGAIN if the descriptor is full.
  int write_some(int fd);

 private:
  std::vector<iovec> pieces_;
  std::size_t next_ = 0;  // of pieces_
  std::size_t left_ = 0;
};

// Applies to the open file, so every process that shares it is affected. Throws Error(kOs), as all
// functions below.
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

// How many descriptors this process has open, and may have. Other threads may change that at once.
struct DescriptorUse {
  std::size_t open = 0;
  std::size_t soft = 0, hard = 0;  // limits; RLIM_INFINITY without
  std::size_t free() const { return soft > open ? soft - open : 0; }
};
DescriptorUse descriptor_use();  // without /proc, open is 0

}  // namespace dtl
