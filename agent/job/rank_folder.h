#pragma once
// RankFolder: DIR/JOB of --log-dir, on its own node. Once it is open, it is used by its descriptor:
// whoever may rename what lies in DIR cannot lead what is written elsewhere.

#include <chrono>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace dtl {

// Opens a folder, and makes those of its path that are missing, without following a link that
// belongs to neither this user nor root. path: absolute. Throws Error(kCannotWrite) whose reason
// names the place.
Fd open_folder_by_own_links(const std::string& path);

class RankFolder {
 public:
  // directory: DIR, absolute. name: JOB.
  RankFolder(std::string directory, std::string name);

  // Opens it unless it is open. Throws the same.
  void open();
  // What to tell the user where it cannot be opened: once a minute, for all of its files.
  std::optional<std::string> complaint(const Error& error, std::chrono::milliseconds now);
  const std::string& path() const { return path_; }
  int descriptor() const { return folder_.get(); }  // for openat(); once it is open

 private:
  std::string directory_, name_, path_;
  Fd folder_;
  std::optional<std::chrono::milliseconds> told_;
};

}  // namespace dtl
