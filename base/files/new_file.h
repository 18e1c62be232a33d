#pragma once
// NewFile: a file that takes the place of another as a whole, or not at all.

#include <string>
#include <string_view>

#include "base/fd.h"

namespace dtl {

// It grows beside its place, under a name that nobody can guess and that is created exclusively:
// no file of the user's and no link of somebody else's is written to. Of processes that were killed
// while they wrote to the same place, it removes what they left.
// A link to a plain file is replaced, too. What is there and can have no other in its place, such
// as /dev/null, /dev/stdout or a pipe with a name, is written to; a folder or a disk is refused.
class NewFile {
 public:
  // mode: less the umask. Throws Error(kCannotWrite) naming the path; a pipe that nobody reads is
  // one reason.
  explicit NewFile(const std::string& path, unsigned mode = 0666);
  ~NewFile();  // what has not been kept goes
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int fd() const { return file_.get(); }  // blocking, to write all of it
  // It is on the disk and in its place afterwards. Throws Error(kCannotWrite).
  void keep();

 private:
  std::string path_;
  std::string temporary_;  // empty: written in place
  Fd file_;
};

// Throws Error(kCannotWrite) where NewFile would; leaves nothing, and opens no pipe, whose reader
// would take that for the end.
void check_new_file(const std::string& path);

void write_file_atomically(const std::string& path, std::string_view bytes);
// The same for its owner's eyes alone (0600), also where a file of other rights stands there.
void write_private_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace dtl
