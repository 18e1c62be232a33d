#include "agent/node/unserved_mpi.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "tests/support/folders.h"

namespace dtl::unserved_mpi_test {
namespace {

namespace fs = std::filesystem;

std::string library(const std::string& name) {
  const fs::path build = fs::path(test::program_path("")).parent_path().parent_path();
  return (build / "tests/mpi/lib" / name).string();
}

// A shell with these libraries loaded and nothing else to do.
class Process {
 public:
  Process(const std::string& libraries, const std::string& variable) {
    Pipe ready = make_pipe(), hold = make_pipe();
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, hold.read_end.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, ready.write_end.get(), STDOUT_FILENO);
    std::string shell = "/bin/sh", option = "-c", script = "echo ready; read line";
    std::string preload = "LD_PRELOAD=" + libraries, other = variable;
    char* arguments[] = {shell.data(), option.data(), script.data(), nullptr};
    char* environment[] = {preload.data(), other.data(), nullptr};
    EXPECT_EQ(::posix_spawn(&pid_, "/bin/sh", &files, nullptr, arguments, environment), 0);
    ::posix_spawn_file_actions_destroy(&files);
    ready.write_end.reset();
    char byte = 0;
    EXPECT_EQ(::read(ready.read_end.get(), &byte, 1), 1);  // it has loaded them
    hold_ = std::move(hold.write_end);
  }
  ~Process() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  Fd hold_;
};

std::string found_in(const std::string& libraries, const std::string& variable = "A=b") {
  const Process process(libraries, variable);
  return unserved_mpi(process.pid()).value_or("nothing");
}

TEST(UnservedMpi, IsOpenMpiWithItsComponentsLoaded) {
  const std::string open_mpi = library("libmpi.so.40");
  EXPECT_EQ(found_in(open_mpi + ":" + library("mca_stand_in.so")), open_mpi);
  EXPECT_EQ(found_in(library("mca_stand_in.so") + ":" + open_mpi), open_mpi);
}

TEST(UnservedMpi, IsNotALibraryThatIsOnlyLoaded) {
  EXPECT_EQ(found_in(library("libmpi.so.40")), "nothing");
}

TEST(UnservedMpi, IsNotAnotherMpiNorMpirun) {
  EXPECT_EQ(found_in(library("libmpich.so.12")), "nothing");
  EXPECT_EQ(found_in(library("libmpich.so.12") + ":" + library("mca_stand_in.so")), "nothing");
}

TEST(UnservedMpi, IsNotWhatAnMpirunInsideTheRankServes) {
  const std::string both = library("libmpi.so.40") + ":" + library("mca_stand_in.so");
  EXPECT_EQ(found_in(both, "PMIX_NAMESPACE=prterun-node-1@1"), "nothing");
}

// Open MPI 5 has its components inside: a memory segment, or the file by which it tried
// shm_open(3).
TEST(UnservedMpi, IsOpenMpi5WithItsSharedMemory) {
  const Fd mpi(::open(library("libmpi.so.40").c_str(), O_RDONLY | O_CLOEXEC));
  void* const mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, mpi.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_FALSE(unserved_mpi(::getpid()));
  {
    const std::string name = "/dev/shm/open_mpi." + std::to_string(::getpid());
    const Fd tried(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ::unlink(name.c_str());
    ASSERT_TRUE(tried.valid());
    EXPECT_EQ(unserved_mpi(::getpid()), library("libmpi.so.40"));
  }
  EXPECT_FALSE(unserved_mpi(::getpid()));
  const std::string name = "/dev/shm/sm_segment.node." + std::to_string(::getpid());
  const Fd segment(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  void* const shared = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, segment.get(), 0);
  ::unlink(name.c_str());
  ASSERT_NE(shared, MAP_FAILED);
  EXPECT_EQ(unserved_mpi(::getpid()), library("libmpi.so.40"));
  ::munmap(shared, 4096);
  ::munmap(mapped, 4096);
}

TEST(UnservedMpi, IsWantedInAProcessWithoutPmiFd) {
  EXPECT_TRUE(is_offered_pmi(Process("libmpi.so.40", "PMI_FD=4").pid()));
  EXPECT_FALSE(is_offered_pmi(Process("libmpi.so.40", "PMI_FD_=4").pid()));
}

TEST(UnservedMpi, IsNotInAProcessThatHasEnded) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(unserved_mpi(child));
}

}  // namespace
}  // namespace dtl::unserved_mpi_test
