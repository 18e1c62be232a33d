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

bool RankFile::open() {
  if (file_.valid()) return true;
  // An earlier job's longer text must not show behind this one's.
  const int fresh = begun_ ? 0 : O_TRUNC;
  file_ = Fd(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | fresh, 0600));
  if (!file_.valid()) return false;
  if (!begun_) size_ = 0;
  begun_ = true;
  open_files_.opened(*this);
  return true;
}

void RankFile::rotate() {
  close();
  begun_ = false;
  for (int number = kFiles - 1; number > 0; --number) {
    const std::string from = number == 1 ? path_ : path_ + "." + std::to_string(number - 1);
    std::rename(from.c_str(), (path_ + "." + std::to_string(number)).c_str());
  }
}

std::optional<std::string> RankFile::write(std::string_view bytes, std::chrono::milliseconds now) {
  if (size_ + bytes.size() > kBytes && size_ > 0) rotate();
  int problem = open() ? 0 : errno;
  while (problem == 0 && !bytes.empty()) {
    const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) problem = errno;
    if (n <= 0) break;
    size_ += static_cast<std::size_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  if (problem == 0 || (told_ && now - *told_ < kBetweenNotices)) return std::nullopt;
  told_ = now;
  return "cannot keep output in " + path_ + ": " + errno_text(problem) + "; the job goes on";
}

}  // namespace dtl
