#pragma once
// The folder of links to dtlaunch with the names of other launchers' programs, for --names.

#include <string>

namespace dtl {

// Its absolute path, for PATH. program_directory: of dtlaunch's executable. Throws Error(kOs) if
// this dtlaunch has no such folder, or PATH cannot hold it.
std::string names_folder(const std::string& program_directory);

}  // namespace dtl
