#pragma once
// NewFile: writes a file that replaces another one completely or not at all. For all files that
// users name (--report, results, checkpoints): a crash or a full disk leaves the old file intact.

#include <string>
#include <string_view>

#include "base/fd.h"

namespace dtl {

// It writes to a temporary file in the same folder, created exclusively with a random name: it
// never writes to a user's file or through another user's link. It also removes temporary files of
// killed processes that were writing the same file. A link is replaced by a plain file. It writes
// into a device, a named pipe and our own descriptors (/dev/stdout) instead of replacing them, and
// refuses a folder or a disk.
class NewFile {
 public:
  // mode: before the umask. Throws Error(kCannotWrite) naming the path, also for a pipe without a
  // reader.
  explicit NewFile(const std::string& path, unsigned mode = 0666);
  ~NewFile();  // removes the temporary file unless keep() was called
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int fd() const { return file_.get(); }  // for write_all()
  // Syncs the file to the disk and renames it. Throws Error(kCannotWrite).
  void keep();

 private:
  std::string path_;
  std::string temporary_;  // empty: written in place
  Fd file_;
};

// Throws Error(kCannotWrite) if NewFile would, and leaves no file. Call it before a job whose
// result could not be written at its end. It does not open a pipe: the reader would see its end.
void check_new_file(const std::string& path);

void write_file_atomically(const std::string& path, std::string_view bytes);
// The same with mode 0600, even if an existing file has another mode.
void write_private_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace dtl
