#include "base/machine/cgroup.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dtl::cgroup_test {
namespace {

// A fake machine's /proc and /sys in its own folder.
class FakeMachine {
 public:
  FakeMachine() {
    char path[] = "/tmp/dtl-cgroup-XXXXXX";
    root_ = ::mkdtemp(path);
  }
  ~FakeMachine() { std::filesystem::remove_all(root_); }
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  CgroupLimits limits() const { return read_cgroup_limits(root_); }

 private:
  std::string root_;
};

TEST(Cgroup, TakesTheTightestLimitOfVersion2UpToTheRoot) {
  FakeMachine machine;
  machine.write("/proc/self/mountinfo",
                "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
  machine.write("/proc/self/cgroup", "0::/jobs/mine\n");
  machine.write("/sys/fs/cgroup/jobs/mine/cpu.max", "max 100000\n");
  machine.write("/sys/fs/cgroup/jobs/cpu.max", "150000 100000\n");
  machine.write("/sys/fs/cgroup/jobs/mine/memory.max", "1048576\n");
  machine.write("/sys/fs/cgroup/jobs/memory.max", "max\n");
  EXPECT_DOUBLE_EQ(machine.limits().quota_cpus, 1.5);
  EXPECT_EQ(machine.limits().memory_bytes, 1048576u);
}

TEST(Cgroup, ReadsVersion1WhereControllersShareAMount) {
  FakeMachine machine;
  machine.write("/proc/self/mountinfo",
                "31 1 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                "32 1 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  machine.write("/proc/self/cgroup", "4:cpu,cpuacct:/half\n3:memory:/half\n0::/\n");
  machine.write("/sys/fs/cgroup/cpu,cpuacct/half/cpu.cfs_quota_us", "50000\n");
  machine.write("/sys/fs/cgroup/cpu,cpuacct/half/cpu.cfs_period_us", "100000\n");
  machine.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  machine.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  machine.write("/sys/fs/cgroup/memory/half/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_DOUBLE_EQ(machine.limits().quota_cpus, 0.5);
  EXPECT_EQ(machine.limits().memory_bytes, 0u);
}

TEST(Cgroup, FindsTheGroupInsideAContainersMount) {
  FakeMachine machine;
  machine.write("/proc/self/mountinfo",
                "31 1 0:27 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
  machine.write("/proc/self/cgroup", "4:cpu:/docker/abc/inner\n");
  machine.write("/sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "200000\n");
  machine.write("/sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(machine.limits().quota_cpus, 2.0);
}

// As when the folder of a hierarchy is also the mount point of one of its groups.
TEST(Cgroup, SeesTheLastOfSeveralMountsOnOneFolder) {
  FakeMachine machine;
  machine.write("/proc/self/mountinfo",
                "32 1 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                "33 32 0:28 /node /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                "34 1 0:28 / /elsewhere rw - cgroup cgroup rw,memory\n");
  machine.write("/proc/self/cgroup", "3:memory:/node/job\n");
  machine.write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1048576\n");
  EXPECT_EQ(machine.limits().memory_bytes, 1048576u);
}

TEST(Cgroup, HasNoLimitWhereNothingCanBeRead) {
  const FakeMachine machine;
  EXPECT_EQ(machine.limits().quota_cpus, 0);
  EXPECT_EQ(machine.limits().memory_bytes, 0u);
}

}  // namespace
}  // namespace dtl::cgroup_test
