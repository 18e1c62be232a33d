#pragma once
// One message of each type with every field set, with the name of its PROTOCOL.md vector.

#include <string>
#include <utility>
#include <vector>

#include "wire/messages.h"

namespace dtl {

std::vector<std::pair<std::string, Message>> example_messages();

}  // namespace dtl
