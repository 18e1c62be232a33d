#pragma once
// What --version -v tells about the libraries of others: which are inside a program, and which
// shared ones it has loaded. The one file that includes a library says what that library is
// (CONTRIBUTING.md, The rooms); a program lists those that it uses. Programs only.

#include <string>
#include <string_view>
#include <vector>

namespace dtl {

struct Library {
  std::string name;               // as its own project writes it
  std::string version;            // as the library says itself when the program runs, if it can
  const void* address = nullptr;  // of one of its functions; nullptr: inside, compiled from headers
  std::string absent = {};        // why it is not loaded, if it is not
};

template <class Function>
const void* address_of(Function* function) {
  return reinterpret_cast<const void*>(function);
}

std::string version_of(int major, int minor, int patch);

// One line for each, and for those that every program has: fmt, the C++ runtime and glibc. A line
// ends with "inside" and the package that it was linked from, or with the path of the shared
// library that was loaded.
std::string library_lines(std::vector<Library> libraries);

}  // namespace dtl
