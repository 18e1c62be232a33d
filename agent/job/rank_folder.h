#pragma once
// RankFolder: DIR/JOB of --log-dir, on its own node. It is opened once and then used by its
// descriptor. Another user who may rename folders in DIR cannot redirect what is written.

#include <chrono>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace dtl {

class RankFolder {
 public:
  // directory: DIR, absolute. name: JOB. Nothing is opened or made before open().
  RankFolder(std::string directory, std::string name);

  // Opens it if it is not open yet, and makes missing folders. Refuses links of other users, but
  // for root's. Refuses a last folder that is a link, belongs to somebody else, or that others may
  // write to. Throws Error(kCannotWrite); its reason names the folder or link.
  void open();
  // A line for the user when it cannot be opened: one a minute for all of its files.
  std::optional<std::string> complaint(const Error& error, std::chrono::milliseconds now);
  const std::string& path() const { return path_; }
  int descriptor() const { return folder_.get(); }  // for openat(); once it is open

 private:
  std::string directory_, name_, path_;
  Fd folder_;
  // When the last complaint was made; absent: never.
  std::optional<std::chrono::milliseconds> told_;
};

}  // namespace dtl
