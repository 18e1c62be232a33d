// mktime(3) turns a date that does not exist into another one, so the result is compared with what
// was asked.
#include "launcher/history/since.h"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <string>

#include "base/text.h"

namespace dtl {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kMostUnits = 100'000;

std::optional<std::int64_t> parse_age(std::string_view text) {
  constexpr std::pair<char, std::int64_t> kUnits[] = {{'m', kMinuteMs},
                                                      {'h', 60 * kMinuteMs},
                                                      {'d', 24 * 60 * kMinuteMs},
                                                      {'w', 7 * 24 * 60 * kMinuteMs}};
  if (text.empty()) return std::nullopt;
  const auto unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                 [&](const auto& each) { return each.first == text.back(); });
  const auto count = parse_integer(text.substr(0, text.size() - 1), 0, kMostUnits);
  if (unit == std::end(kUnits) || !count) return std::nullopt;
  return *count * unit->second;
}

// A number of exactly `digits` digits at `at`.
std::optional<int> digits_at(std::string_view text, std::size_t at, std::size_t digits) {
  constexpr std::int64_t kMost = 9999;
  if (text.size() < at + digits) return std::nullopt;
  const auto number = parse_integer(text.substr(at, digits), 0, kMost);
  if (!number) return std::nullopt;
  return static_cast<int>(*number);
}

std::optional<std::int64_t> parse_date(std::string_view text) {
  // 2026-11-28 or 2026-11-28 14:00, also with a T between date and time.
  constexpr std::size_t kDate = 10, kWithTime = 16;
  if (text.size() != kDate && text.size() != kWithTime) return std::nullopt;
  if (text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = digits_at(text, 0, 4), month = digits_at(text, 5, 2),
             day = digits_at(text, 8, 2);
  std::optional<int> hour = 0, minute = 0;
  if (text.size() == kWithTime) {
    if ((text[kDate] != ' ' && text[kDate] != 'T') || text[13] != ':') return std::nullopt;
    hour = digits_at(text, 11, 2);
    minute = digits_at(text, 14, 2);
  }
  if (!year || !month || !day || !hour || !minute || *hour > 23 || *minute > 59) {
    return std::nullopt;
  }
  std::tm date{};
  date.tm_year = *year - 1900;
  date.tm_mon = *month - 1;
  date.tm_mday = *day;
  date.tm_hour = *hour;
  date.tm_min = *minute;
  date.tm_isdst = -1;  // as it was then
  const std::time_t moment = std::mktime(&date);
  if (moment == -1 || date.tm_mon != *month - 1 || date.tm_mday != *day) return std::nullopt;
  return std::int64_t{moment} * 1000;
}

}  // namespace

std::optional<std::int64_t> parse_since(std::string_view text, std::int64_t now_ms) {
  if (const auto age = parse_age(text)) return now_ms - *age;
  return parse_date(text);
}

}  // namespace dtl
