#pragma once
// RankFiles: with -outfile-pattern and -errfile-pattern, the ranks' output goes to files on the
// launcher's machine instead of the screen. A file is truncated when its rank starts, even if the
// rank never writes: an older job's text must not be taken for this one's. One object for each
// stream. One thread.

#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "launcher/screen/line_label.h"

namespace dtl {

class RankFiles {
 public:
  RankFiles() = default;  // no files: all output goes to the screen
  // began: the time for %t. append: keep existing text.
  RankFiles(LineLabel pattern, Stream stream, std::time_t began, bool append = false)
      : pattern_(std::move(pattern)), stream_(stream), began_(began), append_(append) {}

  bool empty() const { return pattern_.empty(); }
  // Both return an error, once for each file; the job goes on. Ranks with the same file name share
  // the file. write() drops bytes of a rank that was not opened.
  std::optional<std::string> open(int rank, const LabelFacts& facts);
  std::optional<std::string> write(int rank, std::string_view bytes);

 private:
  struct File {
    Fd fd;
    bool told = false;
  };
  static std::optional<std::string> complain(const std::string& path, File& file, int problem);

  LineLabel pattern_;
  Stream stream_ = Stream::kStdout;
  std::time_t began_ = 0;
  bool append_ = false;
  std::map<int, std::string> paths_;  // by rank
  // By path, because ranks may share one.
  std::map<std::string, File> files_;
};

}  // namespace dtl
