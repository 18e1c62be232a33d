#include "agent/jobs/unused_segments.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/fd.h"

namespace dtl::unused_segments_test {
namespace {

using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;

constexpr off_t kSize = 4096;

// A file in /dev/shm, open, that its end removes.
struct Segment {
  std::string path;
  Fd file;

  explicit Segment(const std::string& prefix, off_t size = kSize)
      : path("/dev/shm/" + prefix + std::to_string(::getpid())),
        file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (::ftruncate(file.get(), size) != 0) file.reset();
  }
  ~Segment() { ::unlink(path.c_str()); }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  bool exists() const { return ::access(path.c_str(), F_OK) == 0; }
};

TEST(UnusedSegments, AreRemovedOnceNobodyHasThemOpen) {
  Segment of_mpich("mpich_shm_test_"), of_intel("Intel_MPI_test"), of_open_mpi("sm_segment.test.");
  ASSERT_TRUE(of_mpich.file.valid() && of_intel.file.valid() && of_open_mpi.file.valid());
  of_mpich.file.reset();
  of_intel.file.reset();
  EXPECT_THAT(remove_unused_segments(), IsSupersetOf({of_mpich.path, of_intel.path}));
  EXPECT_FALSE(of_mpich.exists());
  EXPECT_FALSE(of_intel.exists());
  EXPECT_TRUE(of_open_mpi.exists());
  of_open_mpi.file.reset();
  EXPECT_THAT(remove_unused_segments(), Contains(of_open_mpi.path));
}

TEST(UnusedSegments, StayWhileTheyAreMapped) {
  Segment segment("mpich_shm_test_");
  void* const mapped =
      ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, segment.file.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  segment.file.reset();
  EXPECT_THAT(remove_unused_segments(), Not(Contains(segment.path)));
  EXPECT_TRUE(segment.exists());
  ::munmap(mapped, kSize);
  EXPECT_THAT(remove_unused_segments(), Contains(segment.path));
}

TEST(UnusedSegments, AreNotOtherFiles) {
  Segment of_a_user("my_mpich_shm_"), made_just_now("mpich_shm_test_", 0);
  of_a_user.file.reset();
  made_just_now.file.reset();
  remove_unused_segments();
  EXPECT_TRUE(of_a_user.exists());
  EXPECT_TRUE(made_just_now.exists());
}

TEST(UnusedSegments, AreThisUsersOnly) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make another user's file";
  Segment segment("mpich_shm_test_");
  ASSERT_EQ(::fchown(segment.file.get(), 65534, 65534), 0);
  segment.file.reset();
  remove_unused_segments();
  EXPECT_TRUE(segment.exists());
}

TEST(UnusedSegments, AreNotLinks) {
  Segment target("my_mpich_shm_");
  target.file.reset();
  const std::string link = "/dev/shm/mpich_shm_link_" + std::to_string(::getpid());
  ASSERT_EQ(::symlink(target.path.c_str(), link.c_str()), 0);
  remove_unused_segments();
  EXPECT_TRUE(target.exists());
  struct stat found {};
  EXPECT_EQ(::lstat(link.c_str(), &found), 0);
  ::unlink(link.c_str());
}

}  // namespace
}  // namespace dtl::unused_segments_test
