#pragma once
// Cloud: the provider whose metadata service announces that a host will be taken away (--spot).
// wire's WatchNotices uses these numbers, so they never change.

#include <cstdint>
#include <string>

namespace dtl {

enum class Cloud : std::uint8_t { kOff = 0, kAuto = 1, kAws = 2, kGcp = 3, kAzure = 4 };

// As typed by users: "aws". Throws Error(kUsage).
Cloud parse_cloud(const std::string& text);
const char* cloud_name(Cloud cloud);

}  // namespace dtl
