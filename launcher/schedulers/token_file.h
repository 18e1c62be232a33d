#pragma once
// TokenFile: the token of a job in a file of its own, for the time until all nodes have read it,
// where the scheduler hands no environment on. It is removed as soon as possible and in any case by
// the destructor. Its functions may be called from any thread.

#include <mutex>
#include <string>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

// Folders that the nodes of a job of PBS may share, the likeliest first: where it was submitted,
// and the user's own. Whether a node sees them is found out by the node.
std::vector<std::string> shared_folders(const Variables& environment);

class TokenFile {
 public:
  TokenFile() = default;
  ~TokenFile() { remove(); }
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  // Writes a new file of mode 0600 in the place of the last one, and returns its path. It goes into
  // the first of the folders that is this user's and that nobody else may write: elsewhere somebody
  // could put a token of their own there. Throws Error(kCannotWrite) with the reason of each.
  std::string write(const std::vector<std::string>& folders, const std::string& token);
  void remove();  // does nothing where there is none

 private:
  std::mutex mutex_;
  std::string path_;
};

// Whether a TokenFile has written it, and not a user: only such a file may be removed by others.
bool is_token_file(const std::string& path);

}  // namespace dtl
