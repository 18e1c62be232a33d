#pragma once
// Cloud: whose metadata service says beforehand that a host will be taken away (--spot). The
// numbers are those of wire's WatchNotices, so they never change their meaning.

#include <cstdint>
#include <string>

namespace dtl {

enum class Cloud : std::uint8_t { kOff = 0, kAuto = 1, kAws = 2, kGcp = 3, kAzure = 4 };

// As users write it: "aws". Throws Error(kUsage).
Cloud parse_cloud(const std::string& text);
const char* cloud_name(Cloud cloud);

}  // namespace dtl
