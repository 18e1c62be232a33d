// A write error of a host that has given up would only hide its reason.
#include "launcher/streams/host_talk.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace dtl {

awaitable<void> HostTalk::say(std::string bytes) {
  try {
    co_await stream_.write(std::move(bytes));
  } catch (const Error& error) {
    if (error.status() != Exit::kIo) throw;
    has_refused_ = true;
  }
  progress_();
}

std::optional<HostAnswer> take_answer(std::string& received, std::string_view marker) {
  const std::size_t at = received.find(marker);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = at + marker.size();
  const std::size_t end = received.find('\n', begin);
  if (end == std::string::npos) return std::nullopt;
  const std::string line = received.substr(begin, end - begin);
  received.erase(0, end);  // the newline may begin the next marker
  const std::size_t blank = std::min(line.find(' '), line.size());
  return HostAnswer{line.substr(0, blank), std::string(trim(line.substr(blank)))};
}

}  // namespace dtl
