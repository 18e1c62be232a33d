// Only names are kept: addresses and arguments do not fit on a card, and the report has the text.
#include "launcher/job/native_frames.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace dtl {
namespace {

// From `#1  0x00007f12ab in epoll_wait (epfd=7, ...) from /lib/libc.so.6`, `#2  main () at a.c:3`
// and `#1  0x00007f12ab epoll_wait`: "epoll_wait", "main". Names of C++ may hold blanks.
std::string function_of(std::string_view line) {
  line.remove_prefix(std::min(line.size(), line.find_first_not_of("#0123456789 ")));
  const auto skip = [&](std::string_view word) {
    if (line.starts_with(word)) line.remove_prefix(word.size());
  };
  // The 0 of an address went with the frame's number.
  if (line.starts_with('x')) line.remove_prefix(std::min(line.size(), line.find(' ')));
  skip(" ");
  skip("- 1 ");  // eu-stack, of where a call returns to
  skip("in ");
  const std::size_t arguments = line.find(" (");
  return printable(std::string(line.substr(0, arguments)));
}

}  // namespace

std::vector<std::string> native_frames(const std::string& text) {
  std::vector<std::string> frames;
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with('#')) continue;
    if (line.starts_with("#0 ") && !frames.empty()) break;  // the next thread
    frames.push_back(function_of(line));
  }
  return frames;
}

}  // namespace dtl
