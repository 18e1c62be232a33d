#pragma once
// The lines that the remote side of a push writes on standard output, after whatever the login
// shell printed:
//  want ARCHITECTURE CACHE   no suitable dtagent is there: send dtagent
//  send                      dtagent has arrived completely: send the other files
//  there FOLDER              the programs are in FOLDER
// Each is one line "\nDTLAUNCH-PUSH ...\n". The files follow as plain bytes, without separators.

#include <string_view>

namespace dtl {

constexpr std::string_view kPushMarker = "\nDTLAUNCH-PUSH ";

}  // namespace dtl
