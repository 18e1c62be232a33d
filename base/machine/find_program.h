#pragma once
// Finds a program as a shell does, but only in absolute folders: a program in the current folder
// must be requested as ./NAME.

#include <optional>
#include <string>
#include <string_view>

namespace dtl {

// The first regular file `name` in the folders of `path`, "/usr/bin:/bin", that this user may
// execute.
std::optional<std::string> find_program(std::string_view name, std::string_view path);

// The name of a program in these folders that is nearest to a mistyped one; empty: none is near.
std::string nearest_program(std::string_view name, std::string_view path);

}  // namespace dtl
