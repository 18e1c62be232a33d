#pragma once
// Where libraries lie on this node, for --preload and LD_PRELOAD, and which Python is here: the
// answer to Examine with what=libraries.

#include <string>
#include <vector>

#include "wire/messages.h"

namespace dtl {

// One fact for each parameter "file" or "library", in their order and of that name: where it lies,
// or an empty value. A file is a path, or the bare name of a library; a library ("libjemalloc.so")
// may also have a version at its end (libjemalloc.so.2), of which the highest is taken. Each
// "folder" is looked into first, in order, then library_folders(). Likewise one for each
// "directory": its path, or an empty value; and for each "python", looked for in the latest "PATH"
// before it: its version as "3.11", or an empty value.
Examined find_libraries(const Examine& wanted);

// Folders in which the dynamic loader and people keep libraries, those of this machine's kind of
// Debian (multiarch) and /usr/lib64 included.
std::vector<std::string> library_folders();

}  // namespace dtl
