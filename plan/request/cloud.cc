// Only names; agent/cloud knows how to ask a cloud.
#include "plan/request/cloud.h"

#include "base/error.h"
#include "base/text.h"

namespace dtl {

Cloud parse_cloud(const std::string& text) {
  for (const Cloud cloud : {Cloud::kOff, Cloud::kAuto, Cloud::kAws, Cloud::kGcp, Cloud::kAzure}) {
    if (to_lower(text) == cloud_name(cloud)) return cloud;
  }
  throw option_error("--spot " + text, "unknown cloud", "--spot auto, aws, gcp, azure or off");
}

const char* cloud_name(Cloud cloud) {
  switch (cloud) {
    case Cloud::kOff:
      return "off";
    case Cloud::kAuto:
      return "auto";
    case Cloud::kAws:
      return "aws";
    case Cloud::kGcp:
      return "gcp";
    case Cloud::kAzure:
      return "azure";
  }
  return "?";
}

}  // namespace dtl
