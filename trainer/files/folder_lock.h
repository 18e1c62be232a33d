#pragma once
// FolderLock: while it exists, no other run writes to the folder. It holds flock(2) on a file
// there, so the kernel frees it however the process ends. The file's text tells people who holds
// it. On NFS, the server keeps the lock for all hosts. Only rank 0 uses it.

#include <string>

#include "base/fd.h"

namespace dtl::trainer {

constexpr const char* kLockFile = "dttrain.lock";

class FolderLock {
 public:
  // Creates the folder. Waits 2 s for a holder that ends. Throws Error(kCannotWrite) naming the
  // folder: who holds it since when, or why
  // nothing can be written there. Where the file system has no locks, that is said in a notice.
  explicit FolderLock(const std::string& folder);
  FolderLock(FolderLock&&) noexcept = default;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();  // removes the file

 private:
  bool take();
  void say_who() const;

  std::string path_;
  Fd file_;
};

}  // namespace dtl::trainer
