#pragma once
// RankFile: everything that a rank wrote to one of its streams, kept on its own node. At most three
// files of 16 MiB: FILE, FILE.1 and FILE.2, newest first. A full disk never hurts the job: text
// that cannot be written is lost, and the user is told once a minute.

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agent/job/rank_folder.h"
#include "base/fd.h"

namespace dtl {

class RankFile;

// The most recently opened files of a node, so that many ranks do not need many descriptors. A file
// closed here is reopened at its next write.
class OpenRankFiles {
 public:
  static constexpr std::size_t kMost = 16;

  void opened(RankFile& file);
  void forget(RankFile& file);

 private:
  std::deque<RankFile*> files_;
};

class RankFile {
 public:
  static constexpr std::size_t kBytes = 16 << 20;  // of one file
  static constexpr int kFiles = 3;

  // name: relative to the folder. Folder and list outlive it.
  RankFile(RankFolder& folder, std::string name, OpenRankFiles& open_files)
      : folder_(folder), name_(std::move(name)), open_files_(open_files) {}
  ~RankFile() { open_files_.forget(*this); }
  RankFile(const RankFile&) = delete;
  RankFile& operator=(const RankFile&) = delete;

  // Returns a message for the user, if any. now: of any monotonic clock.
  std::optional<std::string> write(std::string_view bytes, std::chrono::milliseconds now);
  std::string path() const { return folder_.path() + "/" + name_; }
  void close() { file_ = Fd(); }  // until the next write

 private:
  void open();  // in the folder, which must be open; throws Error
  void rotate();

  RankFolder& folder_;
  const std::string name_;
  OpenRankFiles& open_files_;
  Fd file_;
  // The file was ours before: reopening must not empty it.
  bool begun_ = false;
  std::size_t size_ = 0;
  // When the user was last told that writing fails; absent: never.
  std::optional<std::chrono::milliseconds> told_;
};

}  // namespace dtl
