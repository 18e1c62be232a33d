// All names are opened and renamed relative to the folder's descriptor, so they stay in the checked
// folder. Files are opened for appending: if a user truncates one, writing continues at its new
// start.
#include "agent/job/rank_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/error.h"

namespace dtl {
namespace {

constexpr auto kBetweenNotices = std::chrono::minutes(1);

}  // namespace

void OpenRankFiles::opened(RankFile& file) {
  forget(file);
  files_.push_back(&file);
  if (files_.size() <= kMost) return;
  files_.front()->close();
  files_.pop_front();
}

void OpenRankFiles::forget(RankFile& file) {
  std::erase(files_, &file);
}

void RankFile::open() {
  if (file_.valid()) return;
  // Truncate: longer text of an earlier job must not remain behind this one's.
  const int fresh = begun_ ? 0 : O_TRUNC;
  constexpr int kHow = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  file_ = Fd(::openat(folder_.descriptor(), name_.c_str(), kHow | fresh, 0600));
  // write() catches it and adds the path; only the reason is used.
  if (!file_.valid()) throw system_error("");
  if (!begun_) size_ = 0;
  begun_ = true;
  open_files_.opened(*this);
}

void RankFile::rotate() {
  close();
  begun_ = false;
  // The oldest first: each rename overwrites only the file that was moved before, or the oldest.
  for (int number = kFiles - 1; number > 0; --number) {
    const std::string from = number == 1 ? name_ : name_ + "." + std::to_string(number - 1);
    const std::string to = name_ + "." + std::to_string(number);
    ::renameat(folder_.descriptor(), from.c_str(), folder_.descriptor(), to.c_str());
  }
}

std::optional<std::string> RankFile::write(std::string_view bytes, std::chrono::milliseconds now) {
  try {
    folder_.open();
  } catch (const Error& error) {
    return folder_.complaint(error, now);
  }
  // A piece is never split, so a file larger than kBytes may hold one large piece.
  if (size_ + bytes.size() > kBytes && size_ > 0) rotate();
  try {
    open();
    while (!bytes.empty()) {
      const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw system_error("");
      if (n == 0) break;
      size_ += static_cast<std::size_t>(n);
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  } catch (const Error& error) {
    if (told_ && now - *told_ < kBetweenNotices) return std::nullopt;
    told_ = now;
    return path() + ": cannot keep output: " + error.reason() + "; the job goes on";
  }
  return std::nullopt;
}

}  // namespace dtl
