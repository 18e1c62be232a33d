#include "agent/guard/program_fault.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "agent/guard/shell_text.h"

namespace dtl::program_fault_test {
namespace {

using namespace std::string_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

class FileFault : public ::testing::Test {
 protected:
  FileFault() {
    char pattern[] = "/tmp/dtl-programs-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  ~FileFault() override { std::filesystem::remove_all(folder_); }

  // The fault of a new program with these bytes.
  ProgramFault of(const std::string& bytes) { return find_program_fault(write("program", bytes)); }

  std::string write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  std::string folder_;
};

// A 64-bit file of the given kind whose only segment names a dynamic loader.
std::string elf_file(std::uint16_t machine, std::uint16_t type, const std::string& loader) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = type;
  header.e_machine = machine;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_INTERP;
  segment.p_offset = sizeof header + sizeof segment;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(&segment), sizeof segment);
  return bytes + loader + '\0';
}

TEST_F(FileFault, NamesBothArchitectures) {
  utsname host{};
  ::uname(&host);
  const std::uint16_t other = host.machine == "aarch64"s ? EM_X86_64 : EM_AARCH64;
  const std::string name = host.machine == "aarch64"s ? "x86_64" : "aarch64";
  const ProgramFault fault = of(elf_file(other, ET_DYN, "/lib/ld-linux.so.1"));
  EXPECT_EQ(fault.stage, "format");
  EXPECT_EQ(fault.reason, "it is built for " + name + ", but this host is " + host.machine);
  std::string big = elf_file(EM_S390 << 8, ET_EXEC << 8, "");
  big[EI_DATA] = ELFDATA2MSB;
  EXPECT_THAT(of(big).reason, HasSubstr("built for s390x"));
}

TEST_F(FileFault, NamesALoaderThatIsNotThere) {
  utsname host{};
  ::uname(&host);
  const std::uint16_t own = host.machine == "aarch64"s ? EM_AARCH64 : EM_X86_64;
  if (own == EM_X86_64 && host.machine != "x86_64"s) GTEST_SKIP() << "not for " << host.machine;
  const ProgramFault fault = of(elf_file(own, ET_DYN, "/lib/ld-musl-none.so.1"));
  EXPECT_EQ(fault.stage, "interpreter");
  EXPECT_THAT(fault.reason, HasSubstr("/lib/ld-musl-none.so.1 does not exist"));
  EXPECT_EQ(of(elf_file(own, ET_REL, "")).reason, "it is an object file, not a program");
  EXPECT_EQ(of(elf_file(own, ET_DYN, "/bin/sh")).reason, "");
  EXPECT_EQ(of("\x7f"
               "ELF")
                .stage,
            "format");
}

TEST_F(FileFault, SaysWhatWindowsHasDoneToAFirstLine) {
  EXPECT_EQ(of("#!/bin/sh\r\ntrue\r\n").stage, "carriage-return");
  EXPECT_THAT(of("#!/bin/sh\r\ntrue\r\n").reason, HasSubstr(R"(its interpreter is '/bin/sh\r')"));
  EXPECT_EQ(of("\xef\xbb\xbf#!/bin/sh\ntrue\n").stage, "byte-order-mark");
  EXPECT_THAT(of("\xff\xfe#\0!\0"s).reason, HasSubstr("UTF-16"));
}

TEST_F(FileFault, FollowsInterpreters) {
  EXPECT_EQ(of("#!/no/such/perl -w\n").reason, "its interpreter '/no/such/perl' does not exist");
  EXPECT_EQ(of("#!" + write("broken", "PK\3\4") + "\n").reason,
            "its interpreter '" + folder_ + "/broken': it is a zip file");
  EXPECT_THAT(of("#!/" + std::string(300, 'a') + "\n").reason,
              HasSubstr("longer than the 255 bytes"));
  EXPECT_EQ(of("#!" + folder_ + "/program\n").reason, "");  // itself
}

TEST_F(FileFault, KnowsDataFromText) {
  EXPECT_EQ(of("\x1f\x8b\x08\x08xxxx").reason, "it is a gzip file");
  EXPECT_EQ(of("\xa7\x0d\x0d\x0a\0\0\0\0"s).reason, "it is compiled Python; run it by python3");
  EXPECT_THAT(of("a\0b"s).reason, HasSubstr("binary data"));
  for (const char* text : {"", "echo hello\n", "# r\xe9sum\xe9\n\ttrue\n", "#!\n# nobody\n"}) {
    EXPECT_EQ(of(text).stage, "") << text;
    EXPECT_TRUE(is_shell_text(text)) << text;
  }
}

TEST_F(FileFault, IsNoneOfWhatCannotBeRead) {
  EXPECT_EQ(find_program_fault(folder_ + "/none").stage, "");
}

}  // namespace
}  // namespace dtl::program_fault_test
