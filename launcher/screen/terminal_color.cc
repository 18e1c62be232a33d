#include "launcher/screen/terminal_color.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/text.h"

namespace dtl {

bool can_move_cursor(int fd) {
  const char* kind = std::getenv("TERM");
  return ::isatty(fd) != 0 && kind != nullptr && std::string_view(kind) != "dumb" && *kind != '\0';
}

bool wants_color(ColorMode mode, int fd) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org: set and not empty
  return can_move_cursor(fd) && (no_color == nullptr || *no_color == '\0');
}

std::string bold(std::string_view text) {
  return fmt::format("\x1b[1m{}\x1b[0m", text);
}

std::string bold_red(std::string_view text) {
  return fmt::format("\x1b[1;31m{}\x1b[0m", text);
}

std::string colored_card(std::string_view card) {
  // Quoted lines of ranks have a mark in front, so none of them can look like this one.
  constexpr std::string_view kTry = "  try ";
  constexpr std::size_t kIndent = 2;
  std::string text;
  for (const std::string& line : split(card, '\n')) {
    if (text.empty()) {
      text = bold_red(line);
    } else if (line.starts_with(kTry)) {
      text += "\n" + line.substr(0, kIndent) + bold(line.substr(kIndent));
    } else {
      text += "\n" + line;
    }
  }
  return text;
}

}  // namespace dtl
