#pragma once
// RankFile: everything that a rank wrote to one of its streams, kept on its own node. At most three
// files of 16 MiB: FILE, FILE.1 and FILE.2, the newest first. A full disk never hurts the job: what
// cannot be written is not kept, and the user hears of it once a minute.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace dtl {

class RankFile {
 public:
  static constexpr std::size_t kBytes = 16 << 20;  // of one file
  static constexpr int kFiles = 3;

  explicit RankFile(std::string path) : path_(std::move(path)) {}

  // What to tell the user, if anything.
  std::optional<std::string> write(std::string_view bytes, std::chrono::milliseconds now);
  const std::string& path() const { return path_; }

 private:
  bool open();
  void rotate();

  std::string path_;
  Fd file_;
  std::size_t size_ = 0;
  std::optional<std::chrono::milliseconds> told_;
};

}  // namespace dtl
