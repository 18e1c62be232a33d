// The loader's list of objects shows where a function comes from: the program itself if it was
// linked statically, else a shared library with a path.
#include "base/library.h"

#include <fmt/core.h>
#include <gnu/libc-version.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include "base/text.h"

namespace dtl {
namespace {

struct Search {
  std::uintptr_t address;
  std::string path;  // empty: the program itself
};

// Takes the name of the object when one of its segments holds the address; 1 ends the walk.
int look_at(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    const std::uintptr_t start = object->dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD || search.address < start ||
        search.address >= start + header.p_memsz) {
      continue;
    }
    search.path = object->dlpi_name;
    return 1;
  }
  return 0;
}

// dladdr() would return argv[0] for the program, and a static program has no dladdr().
// dl_iterate_phdr() gives the program an empty name.
std::string path_of_object(const void* address) {
  Search search{reinterpret_cast<std::uintptr_t>(address), ""};
  ::dl_iterate_phdr(look_at, &search);
  return search.path;
}

// The distribution's package with the archive or the headers: a security fix changes the package's
// revision, but not the version that the library reports. Empty if there are no packages.
std::string_view package_of(std::string_view library) {
  constexpr std::string_view kPackages = DTL_LINKED_PACKAGES;  // "|OpenSSL=libssl-dev 3.0.17-1|..."
  const std::string key = fmt::format("|{}=", library);
  const std::size_t at = kPackages.find(key);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = kPackages.substr(at + key.size());
  return rest.substr(0, rest.find('|'));
}

std::string place_of(const Library& library) {
  if (!library.absent.empty()) return fmt::format("not loaded: {}", library.absent);
  const std::string path = library.address ? path_of_object(library.address) : "";
  if (!path.empty()) return path;
  const std::string_view package = package_of(library.name);
  return package.empty() ? "inside" : fmt::format("inside ({})", package);
}

}  // namespace

std::string version_of(int major, int minor, int patch) {
  return fmt::format("{}.{}.{}", major, minor, patch);
}

std::vector<LibraryPlace> library_places(std::vector<Library> libraries) {
  libraries.push_back(
      {"fmt", version_of(FMT_VERSION / 10'000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)});
  std::sort(libraries.begin(), libraries.end(), [](const Library& left, const Library& right) {
    return to_lower(left.name) < to_lower(right.name);
  });
  // Last, after the sorted ones: every program has these two.
  libraries.push_back({"libstdc++", std::to_string(_GLIBCXX_RELEASE), address_of(&std::terminate)});
  libraries.push_back({"glibc", ::gnu_get_libc_version(), address_of(&::gnu_get_libc_version)});
  std::vector<LibraryPlace> places;
  for (const Library& library : libraries) {
    places.push_back({library.name, library.version, place_of(library)});
  }
  return places;
}

std::string library_lines(std::vector<Library> libraries) {
  std::string text;
  for (const LibraryPlace& library : library_places(std::move(libraries))) {
    text += fmt::format("  {:<13}  {:<7}  {}\n", library.name, library.version, library.place);
  }
  return text;
}

}  // namespace dtl
