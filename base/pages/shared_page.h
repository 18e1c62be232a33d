#pragma once
// Memory that a process shows to its node's agent: a sealed memfd below /proc/PID/fd, found by its
// name. Only users with access to the process see it. SharedPage is the owner's side, SeenMemory
// the reader's. Nothing here throws: if a page cannot be shared or read, nobody sees it.

#include <cstddef>
#include <string>

#include "base/fd.h"

namespace dtl {

class SharedPage {
 public:
  SharedPage() = default;
  // Zeros of this size. Sealed, since a reader would get SIGBUS if the file were truncated.
  SharedPage(const char* name, std::size_t bytes);
  SharedPage(SharedPage&& other) noexcept;
  SharedPage& operator=(SharedPage&& other) noexcept;
  ~SharedPage();

  void* data() const { return data_; }  // nullptr: it could not be shared
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Whether the descriptor at this path of /proc/PID/fd has the name of such a page. Anybody may use
// the name.
bool has_page_name(const std::string& path, const char* name);

// A page of another process, read-only. Its content is not trusted, and may change at any time.
class SeenMemory {
 public:
  // path: of /proc/PID/fd. Empty if the file is smaller, or if its owner could shorten it.
  SeenMemory(const std::string& path, std::size_t bytes);
  SeenMemory(const SeenMemory&) = delete;
  SeenMemory& operator=(const SeenMemory&) = delete;
  ~SeenMemory();

  const void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace dtl
