#include "agent/node/mpi_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/node/elf_file.h"
#include "agent/node/find_files.h"
#include "tests/agent/elf_bytes.h"
#include "tests/support/folders.h"

namespace dtl::mpi_library_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::ElementsAre;

class MpiLibraries : public ::testing::Test {
 protected:
  MpiLibraries() {
    char pattern[] = "/tmp/dtl-mpi-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  ~MpiLibraries() override { fs::remove_all(folder_); }

  // The path of an executable file with these bytes.
  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }

  std::string folder_;
};

// tests/agent/stand_ins
std::string stand_ins() {
  return fs::path(test::program_path("")).parent_path().parent_path().string() + "/tests/mpi";
}

// "KIND NAME" of a program in the folder of the stand-ins.
std::string mpi_of(const std::string& program, const std::string& library_path = "") {
  const MpiLibrary found = find_mpi(program, stand_ins(), library_path, "/");
  return std::string(to_text(found.kind)) + " " + found.name;
}

TEST_F(MpiLibraries, AreKnownByTheNamesThatAProgramNeeds) {
  EXPECT_EQ(mpi_of("for_mpich"), "mpich MPICH (libmpich.so.12)");
  EXPECT_EQ(mpi_of("for_open_mpi"), "open_mpi Open MPI (libmpi.so.40)");
  EXPECT_EQ(mpi_of("plain"), "none ");
}

TEST_F(MpiLibraries, AreFoundBehindOtherLibraries) {
  EXPECT_EQ(mpi_of("for_solver"), "mpich MPICH (libmpich.so.12)");
}

TEST_F(MpiLibraries, OfOneNameAreToldApartByTheirSymbols) {
  EXPECT_EQ(mpi_of("for_12", stand_ins() + "/intel"), "intel Intel MPI (libmpi.so.12)");
  EXPECT_EQ(mpi_of("for_12", stand_ins() + "/mpich"), "mpich MPICH (libmpi.so.12)");
  EXPECT_EQ(mpi_of("for_12", stand_ins() + "/open_mpi"), "open_mpi Open MPI (libmpi.so.12)");
}

TEST_F(MpiLibraries, AreFoundByTheProgramsOwnRunpath) {
  EXPECT_EQ(mpi_of("for_12_with_rpath"), "intel Intel MPI (libmpi.so.12)");
}

TEST_F(MpiLibraries, ThatAreNotThereAreNamedAsFarAsTheNameTells) {
  EXPECT_EQ(mpi_of("for_12", folder_), "mpich MPICH or Intel MPI (libmpi.so.12)");
}

TEST_F(MpiLibraries, AreOpenMpiWhereAProgramNeedsTwo) {
  EXPECT_EQ(mpi_of("for_both"), "open_mpi Open MPI (libmpi.so.40)");
}

TEST_F(MpiLibraries, OfEachMakerAreKnown) {
  const std::pair<const char*, const char*> cases[] = {
      {"libmpi.so.1", "open_mpi Open MPI (libmpi.so.1)"},
      {"libmpi.so.20", "open_mpi Open MPI (libmpi.so.20)"},
      {"libmpi_mpifh.so.40", "open_mpi Open MPI (libmpi_mpifh.so.40)"},
      {"libmpi_usempif08.so.40", "open_mpi Open MPI (libmpi_usempif08.so.40)"},
      {"liboshmem.so.40", "open_mpi Open MPI (liboshmem.so.40)"},
      {"libmpi_ibm.so.3", "open_mpi IBM Spectrum MPI (libmpi_ibm.so.3)"},
      {"libmpichfort.so.12", "mpich MPICH (libmpichfort.so.12)"},
      {"libmpifort.so.12", "mpich MPICH or Intel MPI (libmpifort.so.12)"},
      {"libmpi_ilp64.so.4", "intel Intel MPI (libmpi_ilp64.so.4)"},
      {"libmpi_gnu_123.so.12", "other Cray MPICH (libmpi_gnu_123.so.12)"},
      {"libmpi.so", "other unknown MPI (libmpi.so)"},
      {"/opt/mpt/libmpi.so.40", "open_mpi Open MPI (libmpi.so.40)"},
      {"libmpi.so.x", "none "},
      {"libmpi.sound", "none "},
      {"libmpicalculator.so.12", "none "},
      {"mpi", "none "}};
  for (const auto& [library, expected] : cases) {
    const std::string path =
        write("program", elf_bytes({.interpreter = "/none", .needed = {library}, .symbols = {}}));
    EXPECT_EQ(mpi_of(path), expected) << library;
  }
}

TEST_F(MpiLibraries, AreNotNeededByScripts) {
  EXPECT_THAT(mpi_of(write("train", "#!/usr/bin/python3\nfrom mpi4py import MPI\n")),
              AnyOf("none ", "hidden Open MPI (libmpi.so.40)"));  // where the host has it
  EXPECT_EQ(mpi_of(write("empty", "")), "none ");
  EXPECT_EQ(mpi_of("no_such_program"), "none ");
  EXPECT_EQ(mpi_of(""), "none ");
}

TEST_F(MpiLibraries, AreThoseOfTheProgramThatARankWouldRun) {
  write("for_mpich", elf_bytes({.needed = {"libmpi.so.40"}, .symbols = {}}));
  const auto name_in = [&](const std::string& program, const std::string& path,
                           const std::string& directory) {
    return find_mpi(program, path, "", directory).name;
  };
  const std::string mine = "Open MPI (libmpi.so.40)", other = "MPICH (libmpich.so.12)";
  EXPECT_EQ(name_in("for_mpich", folder_ + ":" + stand_ins(), "/"), mine);
  EXPECT_EQ(name_in("for_mpich", stand_ins() + ":" + folder_, "/"), other);
  EXPECT_EQ(name_in("for_mpich", ":" + stand_ins(), folder_), mine);
  EXPECT_EQ(name_in("./for_mpich", stand_ins(), folder_), mine);
  EXPECT_EQ(name_in("for_mpich", "", folder_), mine);  // as execvp(3)
  // As execvp(3): goes on behind a file that may not run.
  fs::permissions(folder_ + "/for_mpich", fs::perms::owner_read);
  EXPECT_EQ(name_in("for_mpich", folder_ + ":" + stand_ins(), "/"), other);
}

TEST_F(MpiLibraries, OfALoaderThatDoesNotAnswerAreNone) {
  const std::string loader = write("loader", "#!/bin/sh\nexec sleep 60\n");
  const auto started = std::chrono::steady_clock::now();
  EXPECT_EQ(
      mpi_of(write("program",
                   elf_bytes({.interpreter = loader, .needed = {"libsolver.so"}, .symbols = {}}))),
      "none ");
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(30));
}

// The loader gets the ranks' LD_LIBRARY_PATH, and its answer may hold paths with blanks.
TEST_F(MpiLibraries, AreReadFromTheAnswerOfTheLoader) {
  write("my libmpi.so", elf_bytes({.needed = {}, .symbols = {"I_MPI_Check_image_status"}}));
  const std::string loader =
      write("loader", "#!/bin/sh\n[ \"$*\" = \"--library-path /a:/b --list " + folder_ +
                          "/program\" ] || exit 1\n"
                          "printf '\\tlinux-vdso.so.1 (0x00007f)\\n'\n"
                          "printf '\\tlibgone.so => not found\\n'\n"
                          "printf '\\tlibmpi.so.12 => " +
                          folder_ + "/my libmpi.so (0x00007f22a0bc3000)\\n'\n");
  EXPECT_EQ(
      mpi_of(write("program",
                   elf_bytes({.interpreter = loader, .needed = {"libsolver.so"}, .symbols = {}})),
             "/a:/b"),
      "intel Intel MPI (libmpi.so.12)");
}

TEST_F(MpiLibraries, AnswerExamine) {
  const Examined found = find_libraries({{{"what", "libraries"},
                                          {"mpi", "for_12"},
                                          {"PATH", stand_ins()},
                                          {"LD_LIBRARY_PATH", stand_ins() + "/intel"},
                                          {"mpi", "for_12"},
                                          {"mpi", "plain"},
                                          {"cwd", stand_ins()},
                                          {"mpi", "./for_mpich"}}},
                                        folder_)
                             .answer;
  std::vector<std::string> values;
  for (const Fact& fact : found.facts) values.push_back(fact.name + "=" + fact.value);
  EXPECT_THAT(values, ElementsAre("mpi=", "mpi=intel Intel MPI (libmpi.so.12)",
                                  "mpi=", "mpi=mpich MPICH (libmpich.so.12)"));
}

// The real libraries under the name that tells nothing, so that their symbols decide.
class RealMpi : public MpiLibraries {
 protected:
  // For the first of the libraries that exists.
  std::string mpi_by_symbols(const std::vector<std::string>& names) {
    for (const std::string& folder : library_folders()) {
      for (const std::string& name : names) {
        if (!fs::exists(folder + "/" + name)) continue;
        fs::create_symlink(folder + "/" + name, folder_ + "/libmpi.so.12");
        return mpi_of("for_12", folder_);
      }
    }
    return {};
  }
};

TEST_F(RealMpi, MpichIsKnownByItsSymbols) {
  const std::string found = mpi_by_symbols({"libmpich.so.12"});
  if (found.empty()) GTEST_SKIP() << "MPICH is not installed";
  EXPECT_EQ(found, "mpich MPICH (libmpi.so.12)");
}

TEST_F(RealMpi, OpenMpiIsKnownByItsSymbols) {
  const std::string found = mpi_by_symbols({"libmpi.so.40"});
  if (found.empty()) GTEST_SKIP() << "Open MPI is not installed";
  EXPECT_EQ(found, "open_mpi Open MPI (libmpi.so.12)");
}

TEST_F(MpiLibraries, ElfFilesAreRead) {
  const auto read = read_elf(write(
      "program", elf_bytes({.interpreter = "/lib/ld.so", .needed = {"a", "b"}, .symbols = {}})));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->interpreter, "/lib/ld.so");
  EXPECT_THAT(read->needed, ElementsAre("a", "b"));
}

TEST_F(MpiLibraries, DamagedElfFilesAreNotRead) {
  const std::string whole = elf_bytes({.needed = {"libmpi.so.40"}, .symbols = {}});
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(read_elf(write("program", whole.substr(0, bytes)))) << bytes;
  }
  EXPECT_TRUE(read_elf(write("program", whole)));
  EXPECT_FALSE(read_elf(folder_));
  ASSERT_EQ(::mkfifo((folder_ + "/fifo").c_str(), 0700), 0);
  EXPECT_FALSE(read_elf(folder_ + "/fifo"));
}

// Each field of the headers with extreme values; must neither crash nor wait.
TEST_F(MpiLibraries, HostileElfFilesDoNoHarm) {
  const std::string whole = elf_bytes({.needed = {"libmpi.so.40"}, .symbols = {}});
  for (std::size_t at = 16; at + 8 <= whole.size(); at += 8) {
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1} << 31, UINT64_MAX >> 1, UINT64_MAX - 8, UINT64_MAX}) {
      std::string bytes = whole;
      bytes.replace(at, 8, bytes_of(value));
      const std::string path = write("program", bytes);
      const auto read = read_elf(path);
      EXPECT_LE(read ? read->needed.size() : 0, 1u);
      EXPECT_LE(read_elf_names(path).size(), bytes.size());
    }
  }
}

TEST_F(MpiLibraries, ManyNeededNamesAreLimited) {
  const std::vector<std::string> many(5000, "libm.so.6");
  EXPECT_FALSE(read_elf(write("program", elf_bytes({.needed = many, .symbols = {}}))));
}

}  // namespace
}  // namespace dtl::mpi_library_test
