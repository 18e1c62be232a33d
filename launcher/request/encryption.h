#pragma once
// --encrypt: what libdtring carries between hosts goes under TLS, since all ranks are told so. What
// is not libdtring's goes as its own library sends it, which dtlaunch cannot change: a line says
// so.

#include <string>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

// Throws Error(kUsage) where the user has set the same otherwise.
void encrypt(Request& request, std::vector<std::string>& notices);

}  // namespace dtl
