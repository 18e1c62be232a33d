#pragma once
// TokenFile: a job's token in a file, until all nodes have read it, for schedulers that do not pass
// the environment on. The file is removed as soon as possible, at the latest by the destructor. Any
// thread may call the functions.

#include <mutex>
#include <string>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

// Folders that the nodes of a PBS job may share, likeliest first: where the job was submitted, and
// the user's home. Each node checks whether it sees them.
std::vector<std::string> shared_folders(const Variables& environment);

class TokenFile {
 public:
  TokenFile() = default;
  ~TokenFile() { remove(); }
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  // Writes a new file of mode 0600, which replaces the last one, and returns its path. Uses the
  // first folder that belongs to this user and that nobody else may write: elsewhere others could
  // plant their own token. Throws Error(kCannotWrite) with the reason for each folder.
  std::string write(const std::vector<std::string>& folders, const std::string& token);
  void remove();  // does nothing if there is no file

 private:
  std::mutex mutex_;
  std::string path_;
};

// Whether a TokenFile and not a user has written it: only such a file may be removed by others.
bool is_token_file(const std::string& path);

}  // namespace dtl
