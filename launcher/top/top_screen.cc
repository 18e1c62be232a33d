// The escape sequences are those of xterm, which screen, tmux and the Linux console know too. A
// terminal without an alternate screen ignores that one.
#include "launcher/top/top_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace dtl {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";
constexpr std::string_view kToTop = "\x1b[H", kClearLine = "\x1b[2K", kClearBelow = "\x1b[J";

}  // namespace

// dtlaunch ignores SIGTTOU, so nothing else keeps it from a terminal that others use. In a PID
// namespace the terminal's group may be unknown (0); then nobody else uses it here.
void TopScreen::enter() {
  const pid_t front = ::tcgetpgrp(output_);
  if (entered_ || (front > 0 && front != ::getpgrp())) return;
  termios settings{};
  if (::tcgetattr(input_, &settings) == 0) {
    before_ = settings;
    // ^C and ^Z stay signals.
    settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    settings.c_cc[VMIN] = 1;
    settings.c_cc[VTIME] = 0;
    ::tcsetattr(input_, TCSADRAIN, &settings);
  }
  write(kEnter);
  entered_ = true;
}

void TopScreen::leave() {
  if (!entered_) return;
  entered_ = false;
  write(kLeave);
  if (before_) ::tcsetattr(input_, TCSANOW, &*before_);
}

ScreenSize TopScreen::size() const {
  constexpr std::size_t kLeastRows = 5;
  winsize size{};
  if (::ioctl(output_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, std::max<std::size_t>(size.ws_row, kLeastRows)};
}

void TopScreen::show(std::string_view page) {
  pollfd ready{output_, POLLOUT, 0};
  if (!entered_ || ::poll(&ready, 1, 0) != 1) return;
  std::string bytes(kToTop);
  // No newline after the last line: it would scroll a full screen.
  if (page.ends_with('\n')) page.remove_suffix(1);
  for (;;) {
    const std::size_t end = page.find('\n');
    // Cleared first: after a line that fills its row, that would take its last character.
    bytes += kClearLine;
    bytes += page.substr(0, end);
    if (end == page.npos) break;
    bytes += "\r\n";
    page.remove_prefix(end + 1);
  }
  bytes += kClearBelow;
  write(bytes);
}

// A terminal that is gone sends SIGHUP, which ends the program.
void TopScreen::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(output_, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
}

}  // namespace dtl
