#pragma once
// What the dynamic loader reads first in an ELF file: which interpreter and libraries it needs.
// Reads a few kilobytes of it, however large it is, and runs nothing. The file may hold anything:
// every offset and length is checked. Nothing here throws.

#include <optional>
#include <string>
#include <vector>

namespace dtl {

struct ElfFile {
  std::string interpreter;          // empty: a library or a static program
  std::vector<std::string> needed;  // DT_NEEDED, "libm.so.6", in the order of the file
};

// nullopt: not a 64-bit little-endian ELF file, unreadable, or damaged.
std::optional<ElfFile> read_elf(const std::string& path);

// The file's table of dynamic names (.dynstr: what it exports, imports and needs), each with a NUL
// after it; empty if it has none. At most its first 4 MiB: MPI libraries have up to 120 KB.
std::string read_elf_names(const std::string& path);

}  // namespace dtl
