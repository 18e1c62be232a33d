#include "agent/node/hidden_mpi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/node/examine_pmix.h"
#include "agent/node/find_files.h"
#include "agent/node/mpi_library.h"
#include "agent/node/open_mpi_prefix.h"

namespace dtl::hidden_mpi_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class HiddenMpi : public ::testing::Test {
 protected:
  HiddenMpi() {
    char pattern[] = "/tmp/dtl-hidden-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  ~HiddenMpi() override { fs::remove_all(folder_); }

  // The path of an executable file with this text.
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  // As a program's search would find it; "" if this host has one elsewhere, too.
  std::string found_for(const std::string& file, const std::string& search_path = "",
                        const std::string& library_path = "") const {
    const std::string found = find_hidden_open_mpi(file, search_path, library_path);
    return found.starts_with(folder_) ? found : "";
  }

  std::string folder_;
};

TEST_F(HiddenMpi, IsFoundInTheRanksLibraryPath) {
  const std::string library = write("ompi/libmpi.so.40", "");
  const std::string script = write("train", "#!/opt/none/python3 -u\n");
  EXPECT_EQ(found_for(script, "", "/none:" + folder_ + "/ompi"), library);
  EXPECT_EQ(found_for(script), "");
}

TEST_F(HiddenMpi, IsFoundForInterpretersAndProgramsThatStartOthers) {
  write("lib/libmpi.so.40", "");
  for (const char* name : {"python3", "python3.11", "bash", "Rscript", "julia", "perl", "env",
                           "gdb", "numactl", "lua5.4", "node"}) {
    EXPECT_NE(found_for(write(std::string("bin/") + name, "")), "") << name;
  }
  for (const char* name : {"hello", "pythonic", "bash-like", "environment", "nodes", "shell"}) {
    EXPECT_EQ(found_for(write(std::string("bin/") + name, "")), "") << name;
  }
}

// pip's package has the library in the lib folder of the environment, whose python is a link.
TEST_F(HiddenMpi, IsFoundInAVirtualEnvironment) {
  const std::string library = write("venv/lib/libmpi.so.40", "");
  write("real/bin/python3", "");
  fs::create_directories(folder_ + "/venv/bin");
  fs::create_symlink(folder_ + "/real/bin/python3", folder_ + "/venv/bin/python3");
  EXPECT_EQ(found_for(folder_ + "/venv/bin/python3"), library);
  EXPECT_EQ(found_for(write("script", "#!" + folder_ + "/venv/bin/python3\n")), library);
  const std::string by_path = write("by_path", "#!/usr/bin/env python3\n");
  EXPECT_EQ(found_for(by_path, "/none:" + folder_ + "/venv/bin:/usr/bin"), library);
  EXPECT_EQ(found_for(by_path, folder_ + "/real/bin:" + folder_ + "/venv/bin"), "");
}

TEST_F(HiddenMpi, IsAKindOfItsOwn) {
  const std::string library = write("lib/libmpi.so.40", "");
  write("bin/python3", "");
  const MpiLibrary found = find_mpi("python3", folder_ + "/bin", "", "/");
  EXPECT_EQ(std::string(to_text(found.kind)) + " " + found.name, "hidden Open MPI (libmpi.so.40)");
  EXPECT_EQ(found.path, library);
}

TEST_F(HiddenMpi, MayHaveBroughtLibpmixAlong) {
  write("lib/openmpi/libpmix.so.2", "");
  write("own/libpmix.so.2", "");
  EXPECT_THAT(pmix_folders(folder_ + "/lib/libmpi.so.40", "/none:" + folder_ + "/own"),
              ElementsAre(folder_ + "/own", folder_ + "/lib/openmpi"));
  EXPECT_THAT(pmix_folders("", ""), ElementsAre());
}

TEST_F(HiddenMpi, NeedsAPrefixIfItWasMoved) {
  using namespace std::string_literals;
  const std::string library = write("lib/libmpi.so.40", "");
  EXPECT_EQ(moved_open_mpi_prefix(""), "");
  EXPECT_EQ(moved_open_mpi_prefix(library), "");
  write("share/openmpi/help-mpi-errors.txt", "");
  write("lib/libopen-pal.so.80", "...\0/opt/openmpi\0..."s);
  EXPECT_EQ(moved_open_mpi_prefix(folder_ + "/bin/../lib/libmpi.so.40"), folder_);
  write("lib/libopen-pal.so.80", "...\0"s + folder_ + "\0..."s);
  EXPECT_EQ(moved_open_mpi_prefix(library), "");
}

class HostsPmix : public HiddenMpi {
 protected:
  // The answer with this dtpmix, a shell script.
  PmixFound found(const std::string& script, const std::vector<std::string>& folders = {}) const {
    write("dtpmix", "#!/bin/sh\n" + script);
    return examine_pmix(folder_, folders);
  }
  // The facts of an Examine about this program.
  std::string fact(const std::string& program, const std::string& how) const {
    const Examined answer =
        find_libraries(
            {{{"what", "libraries"}, {"PATH", folder_ + "/bin"}, {"mpi", program}, {"pmix", how}}},
            folder_)
            .answer;
    EXPECT_EQ(answer.facts.size(), 2u);
    EXPECT_EQ(answer.facts.back().name, "pmix");
    return answer.facts.back().value;
  }
};

TEST_F(HostsPmix, IsTheVersionOfItsLibrary) {
  EXPECT_EQ(found("[ \"$*\" = --version ] && echo dtpmix 0.2.0, libpmix 4.2.2").answer, "4.2.2");
}

TEST_F(HostsPmix, IsMissingForAReason) {
  EXPECT_EQ(examine_pmix(folder_, {}).answer, "there is no dtpmix beside dtagent");
  EXPECT_EQ(found("echo \"$0: error while loading shared libraries: libpmix.so.2: cannot open "
                  "shared object file: No such file or directory\" >&2; exit 127")
                .answer,
            "libpmix.so.2 is missing");
  EXPECT_EQ(found("echo dtpmix: version GLIBC_2.38 not found >&2; exit 1").answer,
            "dtpmix cannot run: dtpmix: version GLIBC_2.38 not found");
  EXPECT_EQ(found("exit 1").answer, "dtpmix does not tell its version");
}

TEST_F(HostsPmix, IsThatOfAnOpenMpiIfTheHostHasNone) {
  const std::string script =
      "case $LD_LIBRARY_PATH in " + folder_ +
      "/b*) echo dtpmix 0.2.0, libpmix 5.0.11rc1 ;; *) "
      "echo \"$0: error while loading shared libraries: libpmix.so.2: cannot open shared object "
      "file: No such file or directory\" >&2 ;; esac";
  const PmixFound second = found(script, {folder_ + "/a", folder_ + "/b"});
  EXPECT_EQ(second.answer, "5.0.11rc1");
  EXPECT_EQ(second.libraries, folder_ + "/b");
  EXPECT_EQ(found(script, {folder_ + "/a"}).answer, "libpmix.so.2 is missing");
}

// A server must not be older than its ranks.
TEST_F(HostsPmix, IsThatOfTheOpenMpiEvenIfTheHostHasOne) {
  const std::string script = "case $LD_LIBRARY_PATH in " + folder_ + "/new*) version=5.0.11 ;; " +
                             folder_ +
                             "/old*) version=3.2.5 ;; *) version=4.2.2 ;; esac\n"
                             "echo dtpmix 0.2.0, libpmix $version";
  const PmixFound newest = found(script, {folder_ + "/old", folder_ + "/new"});
  EXPECT_EQ(newest.answer, "5.0.11");
  EXPECT_EQ(newest.libraries, folder_ + "/new");
  const PmixFound hosts = found(script, {folder_ + "/old"});
  EXPECT_EQ(hosts.answer, "4.2.2");
  EXPECT_EQ(hosts.libraries, "");
}

TEST_F(HostsPmix, IsAskedForOnlyIfAProgramMayNeedIt) {
  write("dtpmix", "#!/bin/sh\necho dtpmix 0.2.0, libpmix 4.2.2\n");
  write("bin/hello", "");
  write("bin/python3", "");
  write("lib/libmpi.so.40", "");
  EXPECT_EQ(fact("hello", "if_needed"), "");
  EXPECT_EQ(fact("hello", "always"), "4.2.2");
  EXPECT_EQ(fact("python3", "if_needed"), "4.2.2");
}

}  // namespace
}  // namespace dtl::hidden_mpi_test
