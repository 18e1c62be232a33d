#pragma once
// The third-party libraries in `--version -v`: linked into a program, or loaded as shared ones. The
// only file that includes a library describes it (CONTRIBUTING.md, Rooms); a program lists those
// that it uses. Programs only.

#include <string>
#include <string_view>
#include <vector>

namespace dtl {

struct Library {
  std::string name;               // as its own project writes it
  std::string version;            // as the library reports at run time, if it can
  const void* address = nullptr;  // of one of its functions; nullptr: compiled from headers
  std::string absent = {};        // why it is not loaded, if it is not
};

template <class Function>
const void* address_of(Function* function) {
  return reinterpret_cast<const void*>(function);
}

std::string version_of(int major, int minor, int patch);

struct LibraryPlace {
  std::string name, version;
  std::string place;  // "inside" with the package, the path of a loaded one, or why it is absent
};

// The libraries in the order of library_lines(), with those that every program has.
std::vector<LibraryPlace> library_places(std::vector<Library> libraries);

// One line for each library, and for fmt, the C++ runtime and glibc, which every program has. A
// line ends with "inside" and the package that it was linked from, or with the path of the loaded
// shared library.
std::string library_lines(std::vector<Library> libraries);

}  // namespace dtl
