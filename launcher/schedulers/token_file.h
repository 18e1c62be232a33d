#pragma once
// TokenFile: the token of a job in a file of its own, for the time until all nodes have read it,
// where the engine hands no environment on. Its functions may be called from any thread.

#include <mutex>
#include <string>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

// Folders that the nodes of a job of PBS may share, the likeliest first: where it was submitted,
// and the user's own.
std::vector<std::string> shared_folders(const Variables& environment);

class TokenFile {
 public:
  TokenFile() = default;
  ~TokenFile() { remove(); }
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  // A new file of mode 0600 in the place of the last one, in the first of the folders that is this
  // user's and that nobody else may write; its path.
  // Throws Error(kCannotWrite) with the reason of each.
  std::string write(const std::vector<std::string>& folders, const std::string& token);
  void remove();  // does nothing where there is none

 private:
  std::mutex mutex_;
  std::string path_;
};

// Whether a TokenFile has written it, and no user.
bool is_token_file(const std::string& path);

}  // namespace dtl
