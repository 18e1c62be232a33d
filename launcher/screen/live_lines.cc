// Uses only what every terminal supports: carriage return, cursor up, clear to the end of the
// screen.
#include "launcher/screen/live_lines.h"

#include <fmt/format.h>

#include <algorithm>

namespace dtl {
namespace {

// The rest of the screen is for lines.
constexpr int kMostRows = 16;

// The length of an escape sequence at the beginning of text, 0 if there is none. CSI sequences end
// with a byte such as a letter; all others are assumed to have two bytes.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2 || text[0] != '\x1b') return 0;
  if (text[1] != '[') return 2;
  std::size_t end = 2;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  return std::min(end + 1, text.size());
}

}  // namespace

std::string_view last_shown(std::string_view line) {
  while (line.ends_with('\r') || line.ends_with('\n')) line.remove_suffix(1);
  const std::size_t start = line.rfind('\r');
  return start == std::string_view::npos ? line : line.substr(start + 1);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(' ') == std::string_view::npos;
}

std::string cut_to_columns(std::string_view text, int columns) {
  std::string shown;
  int used = 0;
  bool escaped = false;
  while (!text.empty()) {
    const std::size_t escape = escape_length(text);
    if (escape > 0) {
      // Keeps colours, drops sequences that could move the cursor out of the row.
      if (text[escape - 1] == 'm') shown += text.substr(0, escape), escaped = true;
      text.remove_prefix(escape);
      continue;
    }
    // Continuation bytes of UTF-8 take no column. Wide characters count as one.
    const bool starts = (static_cast<unsigned char>(text[0]) & 0xC0) != 0x80;
    if (starts && used++ == columns) break;
    shown += static_cast<unsigned char>(text[0]) < ' ' ? ' ' : text[0];
    text.remove_prefix(1);
  }
  // The cut may have removed the sequence that ends a colour.
  return escaped ? shown + "\x1b[0m" : shown;
}

std::string LiveLines::draw() {
  // Two rows stay free: erase() must never move above the screen.
  const int most = std::clamp(rows_ - 2, 1, kMostRows);
  const int all = static_cast<int>(lines_.size());
  // One row less if the last one shows how many are hidden.
  const int shown = all > most ? most - 1 : all;
  std::string text;
  drawn_ = 0;
  for (const auto& [source, line] : lines_) {
    if (drawn_ == shown) break;
    if (drawn_++ > 0) text += '\n';
    // A full row may wrap, and erase() counts rows.
    text += cut_to_columns(line, columns_ - 1);
  }
  if (shown < all) {
    if (drawn_++ > 0) text += '\n';
    text += cut_to_columns(fmt::format("... and {} more", all - shown), columns_ - 1);
  }
  return text;
}

std::string LiveLines::erase() {
  std::string text = "\r";
  if (drawn_ > 1) text += fmt::format("\x1b[{}A", drawn_ - 1);
  drawn_ = 0;
  return text + "\x1b[J";
}

}  // namespace dtl
