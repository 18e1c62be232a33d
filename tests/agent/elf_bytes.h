#pragma once
// ELF programs of a few hundred bytes, as read_elf() reads them, for tests and fuzzers. They cannot
// run.

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace dtl {

struct ElfBytes {
  std::string interpreter = "/lib64/ld-linux-x86-64.so.2";
  std::vector<std::string> needed;
  std::vector<std::string> symbols;  // names only
};

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Header, three segments, the interpreter, the dynamic section, its strings. Addresses are offsets
// + kElfBase.
constexpr std::uint64_t kElfBase = 0x400000;

inline std::string elf_bytes(const ElfBytes& file) {
  std::string strings(1, '\0');
  std::string dynamic;
  const auto add_string = [&](const std::string& text) {
    const std::uint64_t at = strings.size();
    strings += text + '\0';
    return at;
  };
  const auto add_entry = [&](std::int64_t tag, std::uint64_t value) {
    dynamic += bytes_of(Elf64_Dyn{tag, {value}});
  };
  for (const std::string& name : file.needed) add_entry(DT_NEEDED, add_string(name));
  for (const std::string& name : file.symbols) add_string(name);
  const std::string interpreter = file.interpreter + '\0';
  const std::uint64_t interpreter_at = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);
  const std::uint64_t dynamic_at = interpreter_at + interpreter.size();
  const std::uint64_t strings_at = dynamic_at + dynamic.size() + 3 * sizeof(Elf64_Dyn);
  add_entry(DT_STRTAB, kElfBase + strings_at);
  add_entry(DT_STRSZ, strings.size());
  add_entry(DT_NULL, 0);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 3;
  const auto segment = [&](std::uint32_t type, std::uint64_t at, std::uint64_t bytes) {
    Elf64_Phdr made{};
    made.p_type = type;
    made.p_offset = at;
    made.p_vaddr = kElfBase + at;
    made.p_filesz = made.p_memsz = bytes;
    return bytes_of(made);
  };
  return bytes_of(header) + segment(PT_LOAD, 0, strings_at + strings.size()) +
         segment(PT_INTERP, interpreter_at, interpreter.size()) +
         segment(PT_DYNAMIC, dynamic_at, dynamic.size()) + interpreter + dynamic + strings;
}

}  // namespace dtl
