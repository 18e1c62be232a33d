#pragma once
// Paths of this tree and its programs. Only one source has them, so that a compiler cache finds all
// other objects in any folder, and so that ASan's build can link the release build's.

#include <string>

namespace dtl::test {

std::string source_path(const std::string& path);   // of a file of this tree, from its top
std::string program_path(const std::string& name);  // of a program of this build

}  // namespace dtl::test
