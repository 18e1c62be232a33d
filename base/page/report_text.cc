// Escapes text and formats numbers. It does not know the page's layout.
#include "base/page/report_text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace dtl {
namespace {

// "2.5e-05" becomes "2.5e-5".
std::string without_zero(std::string number) {
  const std::size_t e = number.find('e');
  if (e != number.npos && e + 3 < number.size() && number[e + 2] == '0') number.erase(e + 2, 1);
  return number;
}

}  // namespace

std::string html_text(std::string_view text) {
  // All or nothing: a text with one invalid byte loses all characters that are not ASCII.
  const bool utf8 = find_invalid_utf8(text) == text.npos;
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else if (c == '\'') {
      result += "&#39;";
    } else if ((byte >= 0x20 && byte < 0x7F) || c == '\n' || c == '\t' || (byte > 0x7F && utf8)) {
      result += c;
    } else {
      result += '?';
    }
  }
  return result;
}

std::string colour_of(std::size_t index) {
  return fmt::format("var(--c{})", index % kColours);
}

std::string short_number(double value) {
  const double size = std::abs(value);
  if (size >= 1e15) return scientific(value, 3);
  if (size >= 1e6) return fmt::format("{:.4g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.4g}k", value / 1e3);
  return without_zero(fmt::format("{:.4g}", value));
}

std::string scientific(double value, int digits) {
  return without_zero(fmt::format("{:.{}e}", value, digits));
}

}  // namespace dtl
