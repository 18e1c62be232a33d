#include "launcher/schedulers/srun_version.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "base/random.h"
#include "base/text.h"

namespace dtl::srun_version_test {
namespace {

class SrunVersionAsked : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "srun-" + to_hex(random_bytes(8, "name a folder"));
    std::filesystem::create_directories(folder_ + "/state");
    ::setenv("XDG_STATE_HOME", (folder_ + "/state").c_str(), 1);
    ::setenv("XDG_RUNTIME_DIR", (folder_ + "/state").c_str(), 1);
    std::filesystem::permissions(folder_ + "/state", std::filesystem::perms::owner_all);
    bring(program());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string program() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path().string() + "/srun_here";
  }
  std::string srun() const { return folder_ + "/srun"; }
  void bring(const std::string& file) const {
    std::filesystem::remove(srun());
    std::filesystem::copy_file(file, srun());
  }
  std::optional<SlurmVersion> version(const std::string& said = "slurm-wlm 22.05.8") const {
    return version_of_srun(srun(),
                           {"SRUN_HERE_VERSION=" + said, "SRUN_HERE_NOTES=" + folder_ + "/notes"});
  }
  std::ptrdiff_t times_asked() const {
    const std::string notes = read_file(folder_ + "/notes", 4096);
    return std::count(notes.begin(), notes.end(), '\n');
  }

  std::string folder_;
};

TEST_F(SrunVersionAsked, OnceWhileTheFileIsTheSame) {
  EXPECT_EQ(version(), (SlurmVersion{22, 5}));
  EXPECT_EQ(version("slurm 99.11.1"), (SlurmVersion{22, 5}));
  EXPECT_EQ(times_asked(), 1);
  bring(program());
  EXPECT_EQ(version("slurm 23.11.4"), (SlurmVersion{23, 11}));
  EXPECT_EQ(times_asked(), 2);
}

TEST_F(SrunVersionAsked, AgainWhereItWasNotSaid) {
  EXPECT_EQ(version("srun: fatal: no configuration"), std::nullopt);
  EXPECT_EQ(version(), (SlurmVersion{22, 5}));
  EXPECT_EQ(times_asked(), 2);
}

TEST_F(SrunVersionAsked, AgainWhereWhatIsKeptIsBroken) {
  EXPECT_EQ(version(), (SlurmVersion{22, 5}));
  for (const auto& each : std::filesystem::recursive_directory_iterator(folder_ + "/state")) {
    if (!each.is_regular_file()) continue;
    const std::string kept = read_file(each.path(), 4096);
    std::ofstream(each.path()) << kept.substr(0, kept.find('\n') + 1) << "garbage";
  }
  EXPECT_EQ(version("slurm 23.02.1"), (SlurmVersion{23, 2}));
  EXPECT_EQ(times_asked(), 2);
}

// A script may run another srun the next time.
TEST_F(SrunVersionAsked, OfAScriptEachTime) {
  std::filesystem::remove(srun());
  std::ofstream(srun()) << "#!/bin/sh\nexec '" << program() << "' \"$@\"\n";
  std::filesystem::permissions(srun(), std::filesystem::perms::owner_all);
  EXPECT_EQ(version(), (SlurmVersion{22, 5}));
  EXPECT_EQ(version("slurm 23.11.4"), (SlurmVersion{23, 11}));
  EXPECT_EQ(times_asked(), 2);
}

}  // namespace
}  // namespace dtl::srun_version_test
