#pragma once
// The lines that the far side of a push writes on standard output, after anything that the login
// shell printed:
//   want ARCHITECTURE CACHE   no dtagent that fits is there: send dtagent
//   send                      dtagent has arrived, whole: send the other files
//   there FOLDER              the programs are in FOLDER
// Each is one line "\nDTLAUNCH-PUSH ...\n". The files follow each other as plain bytes.

#include <string_view>

namespace dtl {

constexpr std::string_view kPushMarker = "\nDTLAUNCH-PUSH ";

}  // namespace dtl
