#pragma once
// The moment that `dtlaunch history --since` names. Pure, but for the time zone (TZ).

#include <cstdint>
#include <optional>
#include <string_view>

namespace dtl {

// Milliseconds since 1970, of "90m", "2h", "3d", "2w" before `now_ms`, or of "2026-11-28" and
// "2026-11-28 14:00" in local time. nullopt for other texts and dates that do not exist.
std::optional<std::int64_t> parse_since(std::string_view text, std::int64_t now_ms);

}  // namespace dtl
