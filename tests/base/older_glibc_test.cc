// Functions that stand in for glibc's: what they answer is what this machine's glibc answers.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

extern "C" const char* sigabbrev_np(int) noexcept;

namespace {

// The hidden ones are not found by name.
template <class Function>
Function of_glibc(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

TEST(OlderGlibc, NamesEverySignalAsGlibcDoes) {
  const auto theirs = of_glibc<const char* (*)(int)>("sigabbrev_np");
  if (theirs == nullptr) GTEST_SKIP() << "this glibc has no sigabbrev_np";
  ASSERT_NE(theirs, &::sigabbrev_np);
  for (int signal = -1; signal <= 70; ++signal) {
    EXPECT_STREQ(::sigabbrev_np(signal), theirs(signal)) << signal;
  }
}

// Without the time of the last access, which another process may change.
void expect_same(const struct stat& one, const struct stat& other) {
  EXPECT_EQ(one.st_dev, other.st_dev);
  EXPECT_EQ(one.st_ino, other.st_ino);
  EXPECT_EQ(one.st_mode, other.st_mode);
  EXPECT_EQ(one.st_nlink, other.st_nlink);
  EXPECT_EQ(one.st_uid, other.st_uid);
  EXPECT_EQ(one.st_size, other.st_size);
  EXPECT_EQ(one.st_blocks, other.st_blocks);
  EXPECT_EQ(one.st_mtim.tv_sec, other.st_mtim.tv_sec);
  EXPECT_EQ(one.st_mtim.tv_nsec, other.st_mtim.tv_nsec);
}

TEST(OlderGlibc, StatsFilesLinksAndDescriptors) {
  // A link that qemu does not replace, as it does /proc/self/exe in open().
  constexpr const char* kLink = "/proc/self/root";
  struct stat file {
  }, link{}, open{}, theirs{};
  const int descriptor = ::open(kLink, O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::stat(kLink, &file), 0);
  ASSERT_EQ(::lstat(kLink, &link), 0);
  ASSERT_EQ(::fstat(descriptor, &open), 0);
  ::close(descriptor);
  EXPECT_TRUE(S_ISDIR(file.st_mode) && S_ISLNK(link.st_mode));
  expect_same(file, open);
  const auto stat_of_glibc = of_glibc<int (*)(const char*, struct stat*)>("stat");
  if (stat_of_glibc == nullptr) GTEST_SKIP() << "this glibc has no stat";
  ASSERT_EQ(stat_of_glibc(kLink, &theirs), 0);
  expect_same(file, theirs);
}

TEST(OlderGlibc, FailsToStatWithTheReason) {
  struct stat file {};
  errno = 0;
  EXPECT_EQ(::stat("/proc/self/no such file", &file), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(::fstat(-1, &file), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST(OlderGlibc, WaitsUntilATimeOrANotice) {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock(mutex);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  EXPECT_FALSE(changed.wait_until(lock, deadline, [] { return false; }));
  EXPECT_GE(std::chrono::steady_clock::now(), deadline);
  bool done = false;
  std::thread other([&] {
    const std::lock_guard held(mutex);
    done = true;
    changed.notify_one();
  });
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::minutes(1), [&] { return done; }));
  lock.unlock();
  other.join();
}

}  // namespace
