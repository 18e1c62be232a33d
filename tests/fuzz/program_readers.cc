// Readers of programs that ranks run: ELF files.

#include "agent/node/elf_file.h"
#include "tests/agent/elf_bytes.h"
#include "tests/fuzz/reader.h"

namespace dtl::fuzz {

// read_elf() refuses a file without an error, as any program may be another kind of file.
std::vector<Reader> program_readers(const Folder& folder) {
  const std::string file = folder.file("program");
  return {{"elf",
           {elf_bytes({.needed = {"libmpi.so.40", "libm.so.6"}, .symbols = {"ompi_mpi_init"}}),
            elf_bytes({.interpreter = "", .needed = {}, .symbols = {}})},
           {bytes_of(kElfBase), std::string(8, '\xFF'), std::string(7, '\xFF') + '\x7F',
            std::string(8, '\0'),
            "\x7F"
            "ELF\x02\x01"},
           [&folder, file](const std::string& bytes) {
             folder.write("program", bytes);
             const auto elf = read_elf(file);
             require(read_elf_names(file).size() <= bytes.size(), "more names than bytes");
             if (!elf) throw Error(Exit::kBadInput, file, "not a 64-bit ELF file");
             require(elf->interpreter.size() <= bytes.size(), "an interpreter from nowhere");
             for (const std::string& name : elf->needed) {
               require(name.size() <= bytes.size(), "a needed name from nowhere");
             }
           },
           names(file)}};
}

}  // namespace dtl::fuzz
