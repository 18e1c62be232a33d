#pragma once
// RankFiles: what ranks write goes to files of the launcher's own machine instead of the screen,
// with -outfile-pattern and -errfile-pattern. Files are truncated at the beginning. One thread.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "launcher/line_label.h"

namespace dtl {

class RankFiles {
 public:
  RankFiles() = default;  // none: everything goes to the screen
  RankFiles(LineLabel pattern, Stream stream) : pattern_(std::move(pattern)), stream_(stream) {}

  bool empty() const { return pattern_.empty(); }
  // Two ranks whose names are the same share a file. Returns what went wrong, the first time.
  std::optional<std::string> write(int rank, const LabelFacts& facts, std::string_view bytes);

 private:
  struct File {
    std::string path;
    Fd fd;
    bool told = false;
  };
  LineLabel pattern_;
  Stream stream_ = Stream::kStdout;
  std::map<int, std::string> paths_;  // by rank: a pid may become known later, the name stays
  std::map<std::string, File> files_;
};

}  // namespace dtl
