// Functions that the C++ runtime of g++ 12 and later, and SQLite, take from glibc, for hosts with
// an older glibc (2.34): a program that contains these then runs there too. Hidden, so that no
// other library sees them. Not for static programs, which contain their glibc.

#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

#define DTL_HIDDEN extern "C" __attribute__((visibility("hidden")))

// glibc 2.36. libstdc++ needs it for std::random_device, which no code here uses (base/random.h).
DTL_HIDDEN std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) std::abort();
  return number;
}

// glibc 2.38 has a new version of it. Only SQLite names it, for the function mod() of SQL. Exact:
// the result of fmod(3) is always a double. Under another name in C++, where g++ knows fmod()
// itself and does not hide it.
DTL_HIDDEN double fmod_of_any_glibc(double number, double divisor) noexcept __asm__("fmod");
double fmod_of_any_glibc(double number, double divisor) noexcept {
  const double size = __builtin_fabs(divisor);
  const double rest = __builtin_remainder(__builtin_fabs(number), size);
  return __builtin_copysign(rest < 0 ? rest + size : rest, number);
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE  // glibc 2.35: its manual, "Dynamic Linker Introspection"

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* found;
};

// Fills in the object if one of its segments contains the address; 1 ends the iteration.
int look_at(dl_phdr_info* object, std::size_t, void* data) {
  const auto& search = *static_cast<Search*>(data);
  std::uintptr_t low = UINTPTR_MAX, high = 0;
  const ElfW(Phdr)* frames = nullptr;
  bool holds = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type == PT_GNU_EH_FRAME) frames = &header;
    if (header.p_type != PT_LOAD) continue;
    const std::uintptr_t start = object->dlpi_addr + header.p_vaddr, end = start + header.p_memsz;
    if (start < low) low = start;
    if (end > high) high = end;
    if (search.address >= start && search.address < end) holds = true;
  }
  // An object without unwind tables counts as not found: exceptions cannot pass it.
  if (!holds || frames == nullptr) return 0;
  *search.found = {};
  search.found->dlfo_map_start = reinterpret_cast<void*>(low);
  search.found->dlfo_map_end = reinterpret_cast<void*>(high);
  search.found->dlfo_eh_frame = reinterpret_cast<void*>(object->dlpi_addr + frames->p_vaddr);
  return 1;
}

}  // namespace

// Finds the object that contains an address, and its unwind tables: called for each frame that an
// exception passes. dl_iterate_phdr() works on any glibc; libgcc 11 used it itself.
DTL_HIDDEN int _dl_find_object(void* address, dl_find_object* found) noexcept {  // NOLINT: its name
  Search search{reinterpret_cast<std::uintptr_t>(address), found};
  return ::dl_iterate_phdr(look_at, &search) == 1 ? 0 : -1;
}

#endif
