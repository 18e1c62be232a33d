#pragma once
// Cloud: who may take a host away, and says so beforehand by a metadata service of its own
// (--spot).

#include <cstdint>
#include <string>

namespace dtl {

enum class Cloud : std::uint8_t { kOff = 0, kAuto = 1, kAws = 2, kGcp = 3, kAzure = 4 };

// As users write it: "aws". Throws Error(kUsage).
Cloud parse_cloud(const std::string& text);
const char* cloud_name(Cloud cloud);

}  // namespace dtl
