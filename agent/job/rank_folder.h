#pragma once
// RankFolder: DIR/JOB of --log-dir, on its own node. It is opened once and then used through its
// descriptor, so a user who may rename folders in DIR cannot redirect the output.

#include <chrono>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace dtl {

class RankFolder {
 public:
  // directory: DIR, absolute. name: JOB. open() opens and creates folders, not the constructor.
  RankFolder(std::string directory, std::string name);

  // Opens it unless it is open, and creates missing folders. Refuses links of other users except
  // root. Refuses a last folder that is a link, belongs to another user, or is writable for others.
  // Throws Error(kCannotWrite); its reason names the folder or link.
  void open();
  // A message for the user if it cannot be opened: at most one a minute for all files.
  std::optional<std::string> complaint(const Error& error, std::chrono::milliseconds now);
  const std::string& path() const { return path_; }
  int descriptor() const { return folder_.get(); }  // for openat(); once it is open

 private:
  std::string directory_, name_, path_;
  Fd folder_;
  // When the last complaint was returned; absent: never.
  std::optional<std::chrono::milliseconds> told_;
};

}  // namespace dtl
