#pragma once
// NewFile: writes a file that replaces another one completely or not at all. For all files that
// users name (--report, results, checkpoints): a crash or a full disk leaves the old file.

#include <string>
#include <string_view>

#include "base/fd.h"

namespace dtl {

// It writes to a temporary file in the same folder, whose name is random and is created
// exclusively: it never writes to a user's file or through another user's link. It also removes the
// temporary files of processes that were killed while they wrote the same file. It replaces a link
// to a plain file. It writes into a device, a named pipe and our own descriptors
// (/dev/stdout) instead of replacing them, and refuses a folder or a disk.
class NewFile {
 public:
  // mode: less the umask. Throws Error(kCannotWrite) naming the path, also for a pipe without a
  // reader.
  explicit NewFile(const std::string& path, unsigned mode = 0666);
  ~NewFile();  // removes the temporary file without keep()
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

// Throws Error(kCannotWrite) if NewFile would, and leaves no file. For a check before a job begins,
// whose result could not be written at its end. It does not open a pipe: the reader would see its
// end.
void check_new_file(const std::string& path);

void write_file_atomically(const std::string& path, std::string_view bytes);
// The same with mode 0600, also where a file of other rights is there.
void write_private_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace dtl
