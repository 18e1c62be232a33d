// Examines a file in the same order as the kernel: ELF, then "#!". Reports a fault only if that
// would keep the kernel from running the file, as the file may have changed or there may be another
// cause.
#include "agent/guard/program_fault.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bit>
#include <climits>
#include <cstring>
#include <optional>
#include <string_view>

#include "agent/guard/shell_text.h"
#include "base/fd.h"
#include "base/text.h"

namespace dtl {
namespace {

// The kernel reads this much of a script's first line (BINPRM_BUF_SIZE).
constexpr std::size_t kFirstLine = 255;
// An interpreter may be a script too; the kernel follows this many.
constexpr int kInterpreters = 5;

// Returns fewer bytes at the end of the file, and none on an error.
std::string read_at(int file, std::size_t bytes, off_t at) {
  std::string text(bytes, '\0');
  const ssize_t got = ::pread(file, text.data(), bytes, at);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

template <class T>
// Copied, as it may be unaligned in the file.
std::optional<T> structure_at(std::string_view bytes, std::size_t at = 0) {
  T value;
  if (bytes.size() < at || bytes.size() - at < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// As `uname -m` calls them.
std::string machine_name(std::uint16_t machine, bool little) {
  switch (machine) {
    case EM_386:
      return "i386";
    case EM_X86_64:
      return "x86_64";
    case EM_ARM:
      return "arm";
    case EM_AARCH64:
      return "aarch64";
    case EM_PPC64:
      return little ? "ppc64le" : "ppc64";
    case EM_S390:
      return "s390x";
    case EM_RISCV:
      return "riscv64";
    case EM_LOONGARCH:
      return "loongarch64";
    case EM_MIPS:
      return "mips";
    case EM_SPARCV9:
      return "sparc64";
  }
  return fmt::format("machine number {}", machine);
}

// e_type and e_machine are at the same offset in 32-bit and 64-bit files.
struct ElfKind {
  std::uint16_t type = 0;
  std::string machine;
};

std::optional<ElfKind> elf_kind(std::string_view beginning) {
  const auto header = structure_at<Elf32_Ehdr>(beginning);
  if (!header) return std::nullopt;
  // A file for another machine may have the other byte order.
  const bool little = header->e_ident[EI_DATA] != ELFDATA2MSB;
  const bool swapped = little != (std::endian::native == std::endian::little);
  const auto order = [&](std::uint16_t value) {
    return swapped ? static_cast<std::uint16_t>(value << 8 | value >> 8) : value;
  };
  return ElfKind{order(header->e_type), machine_name(order(header->e_machine), little)};
}

// The path of the dynamic loader; empty for a static program.
template <class Header, class Segment>
std::string loader_of(int file, std::string_view beginning) {
  const auto header = structure_at<Header>(beginning);
  // An unknown entry size: report nothing.
  if (!header || header->e_phentsize != sizeof(Segment)) return {};
  // The header's count has 16 bits, so the table is bounded.
  const std::string table =
      read_at(file, header->e_phnum * sizeof(Segment), static_cast<off_t>(header->e_phoff));
  for (std::size_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = structure_at<Segment>(table, i * sizeof(Segment));
    if (!segment || segment->p_type != PT_INTERP) continue;
    return read_at(file, PATH_MAX, static_cast<off_t>(segment->p_offset)).c_str();
  }
  return {};
}

ProgramFault elf_fault(int file, std::string_view beginning) {
  const std::optional<ElfKind> kind = elf_kind(beginning);
  utsname host{};
  ::uname(&host);
  if (!kind) return {"format", "its ELF header is truncated"};
  // Most x86_64 kernels run i386 programs, so first check whether their loader exists.
  if (kind->machine != host.machine && kind->machine != "i386") {
    return {"format",
            fmt::format("it is built for {}, but this host is {}", kind->machine, host.machine)};
  }
  if (kind->type == ET_REL) return {"format", "it is an object file, not a program"};
  if (kind->type == ET_CORE) return {"format", "it is a core file, not a program"};
  const bool small = beginning[EI_CLASS] == ELFCLASS32;
  const std::string loader = small ? loader_of<Elf32_Ehdr, Elf32_Phdr>(file, beginning)
                                   : loader_of<Elf64_Ehdr, Elf64_Phdr>(file, beginning);
  if (!loader.empty() && ::access(loader.c_str(), F_OK) != 0) {
    return {"interpreter", fmt::format("its dynamic loader {} does not exist", printable(loader))};
  }
  if (kind->machine != host.machine) {
    return {"format",
            fmt::format("it is built for {}, and the kernel of this {} host does not run that",
                        kind->machine, host.machine)};
  }
  return {};
}

// The path after "#!". A carriage return at the end of the line is part of it, as for the kernel.
std::string interpreter_of(std::string_view beginning) {
  const std::string_view line = beginning.substr(0, beginning.find('\n'));
  const std::size_t from = line.find_first_not_of(" \t", 2);
  if (from == std::string_view::npos) return {};
  return std::string(line.substr(from, line.find_first_of(" \t", from) - from));
}

ProgramFault script_fault(const std::string& interpreter) {
  if (interpreter.ends_with('\r')) {
    return {"carriage-return",
            fmt::format("its first line ends in a carriage return (Windows line endings), so its "
                        "interpreter is '{}'",
                        printable(interpreter))};
  }
  // Without the "#!".
  if (interpreter.size() > kFirstLine - 2) {
    return {"format",
            fmt::format("its first line is longer than the {} bytes that the kernel reads",
                        kFirstLine)};
  }
  if (::access(interpreter.c_str(), F_OK) != 0) {
    return {"interpreter",
            fmt::format("its interpreter '{}' does not exist", printable(interpreter))};
  }
  return {};
}

ProgramFault data_fault(std::string_view beginning) {
  using namespace std::string_view_literals;
  struct Sign {
    std::string_view bytes, what;
  };
  // Kinds of files that people run by mistake; all others are called binary data.
  constexpr Sign kSigns[] = {{"\x1f\x8b"sv, "a gzip file"},
                             {"BZh"sv, "a bzip2 file"},
                             {"\xfd"
                              "7zXZ\0"sv,
                              "an xz file"},
                             {"\x28\xb5\x2f\xfd"sv, "a zstd file"},
                             {"PK\x03\x04"sv, "a zip file"},
                             {"MZ"sv, "a program for Windows"},
                             {"\xcf\xfa\xed\xfe"sv, "a program for macOS"},
                             {"\xca\xfe\xba\xbe"sv, "a program for macOS or a Java class"},
                             {"\xff\xfe"sv, "text in UTF-16"},
                             {"\xfe\xff"sv, "text in UTF-16"}};
  for (const Sign& sign : kSigns) {
    if (beginning.starts_with(sign.bytes)) {
      return {"format", fmt::format("it is {}", sign.what)};
    }
  }
  if (beginning.substr(2).starts_with("\r\n")) {  // after a version number
    return {"format", "it is compiled Python; run it by python3"};
  }
  return {"format", "it is binary data, not a program or a script"};
}

ProgramFault file_fault(int file, std::string_view beginning) {
  if (beginning.starts_with(ELFMAG)) return elf_fault(file, beginning);
  if (beginning.starts_with(kByteOrderMark)) {
    return {"byte-order-mark", "it starts with a byte order mark"};
  }
  if (names_interpreter(beginning)) return script_fault(interpreter_of(beginning));
  return is_shell_text(beginning) ? ProgramFault{} : data_fault(beginning);
}

}  // namespace

ProgramFault find_program_fault(const std::string& path) {
  std::string program = path;
  for (int i = 0; i < kInterpreters; ++i) {
    // O_NONBLOCK: opening a FIFO would otherwise wait for a writer.
    const Fd file(::open(program.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file.valid()) break;
    const std::string beginning = read_at(file.get(), kShellTextLook, 0);
    ProgramFault fault = file_fault(file.get(), beginning);
    if (!fault.reason.empty()) {
      // Reports an interpreter's fault as the program's, whose name the user knows.
      if (i == 0) return fault;
      return {"format", fmt::format("its interpreter '{}': {}", printable(program), fault.reason)};
    }
    if (!names_interpreter(beginning)) break;
    program = interpreter_of(beginning);
  }
  return {};
}

}  // namespace dtl
