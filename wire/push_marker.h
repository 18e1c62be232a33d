#pragma once
// What the far side of a push writes on standard output, after whatever the login shell printed:
//   want ARCHITECTURE CACHE   no dtagent that fits is there: send dtagent
//   send                      dtagent has arrived, whole: send the other files
//   there FOLDER              the programs lie in FOLDER
// each as one line "\nDTLAUNCH-PUSH ...\n". The files follow each other as plain bytes.

#include <string_view>

namespace dtl {

constexpr std::string_view kPushMarker = "\nDTLAUNCH-PUSH ";

}  // namespace dtl
