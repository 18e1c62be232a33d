#pragma once
// FolderLock: while it lives, no other run writes into the folder. It is a lock of the kernel's
// (flock) on a file there: whatever ends the process frees it, and what the file says of its holder
// is for people. On NFS the server keeps it, and hosts see each other's. Rank 0's business.

#include <string>

#include "base/fd.h"

namespace dtl::trainer {

constexpr const char* kLockFile = "dttrain.lock";

class FolderLock {
 public:
  // Creates the folder. Throws Error(kCannotWrite) naming it: who holds it since when, or why
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
