#pragma once
// One message of each type with every field set, by the name under which PROTOCOL.md shows it.

#include <string>
#include <utility>
#include <vector>

#include "wire/messages.h"

namespace dtl {

std::vector<std::pair<std::string, Message>> example_messages();

}  // namespace dtl
