// Carriage returns end lines too: keeps a progress bar's last states, without blank ones.
#include "launcher/screen/line_tail.h"

#include <algorithm>
#include <utility>

namespace dtl {
namespace {

constexpr std::size_t kTailLines = 20;
// The rest of a longer line is dropped, and kCut marks that.
constexpr std::size_t kTailLineBytes = 2000;
constexpr std::string_view kCut = "...";

// Where the last lines of a text begin, as many as a LineTail keeps; 0 if it has fewer.
std::size_t tail_begin(std::string_view text) {
  const auto ends = [&](std::size_t at) { return text[at] == '\n' || text[at] == '\r'; };
  std::size_t lines = 0;
  for (std::size_t at = text.size(); at > 1; --at) {
    if (ends(at - 1) && !ends(at - 2) && ++lines > kTailLines) return at;
  }
  return 0;
}

}  // namespace

void LineTail::feed(std::string_view bytes) {
  // Only the last lines of a large piece count; feeding all of them would cost far more.
  if (const std::size_t begin = tail_begin(bytes); begin > 0) {
    bytes.remove_prefix(begin);
    current_.clear();
  }
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    add_to_line(bytes.substr(0, end));
    if (end == bytes.size()) return;
    bytes.remove_prefix(end + 1);
    if (!current_.empty()) lines_.push_back(std::exchange(current_, {}));
    if (lines_.size() > kTailLines) lines_.pop_front();
  }
}

void LineTail::add_to_line(std::string_view bytes) {
  if (current_.size() > kTailLineBytes) return;  // cut already
  const std::size_t room = kTailLineBytes - current_.size();
  current_ += bytes.substr(0, room);
  if (bytes.size() > room) current_ += kCut;
}

std::vector<std::string> LineTail::lines() const {
  std::vector<std::string> all(lines_.begin(), lines_.end());
  if (!current_.empty()) all.push_back(current_);
  // The unfinished line counts too.
  if (all.size() > kTailLines) all.erase(all.begin());
  return all;
}

}  // namespace dtl
