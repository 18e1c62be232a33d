#include "base/pages/progress_page.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/pages/shared_page.h"

namespace dtl::progress_page_test {
namespace {

// The first page that this process shows.
std::string own_page() {
  const std::string folder = "/proc/self/fd";
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string path = folder + "/" + entry->d_name;
    if (has_page_name(path, kProgressPageName)) return path;
  }
  return {};
}

TEST(ProgressPage, TellsAnotherProcessTheLatestValues) {
  ASSERT_TRUE(tell_progress({6, 100, 4000, 0.75}));
  ASSERT_TRUE(tell_progress({7, 0, 0, std::nan("")}));
  const auto seen = read_progress(own_page());
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->step, 7U);
  EXPECT_EQ(seen->total_steps, 0U);
  EXPECT_EQ(seen->tokens, 0U);
  EXPECT_TRUE(std::isnan(seen->loss));
}

TEST(ProgressPage, ShowsOnlyValuesThatBelongTogether) {
  tell_progress({1, 1, 1, 1});
  const std::string path = own_page();
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (std::uint64_t i = 1; !over; ++i) tell_progress({i, i, i, static_cast<double>(i)});
  });
  for (int looks = 0; looks < 2000;) {
    const auto seen = read_progress(path);
    if (!seen) continue;  // it was just telling
    ++looks;
    EXPECT_EQ(seen->step, seen->tokens);
    EXPECT_EQ(static_cast<double>(seen->step), seen->loss);
  }
  over = true;
  writer.join();
}

TEST(ProgressPage, IsReadOnlyFromAFileThatCannotShrink) {
  const Fd fd(::memfd_create(kProgressPageName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(fd.get(), kProgressPageBytes), 0);
  ASSERT_EQ(::pwrite(fd.get(), &kProgressPageMagic, sizeof kProgressPageMagic, 0), 4);
  EXPECT_FALSE(read_progress("/proc/self/fd/" + std::to_string(fd.get())));
  EXPECT_FALSE(read_progress("/proc/self/fd/0"));
  EXPECT_FALSE(read_progress("/proc/self/fd/none"));
}

TEST(ProgressPage, IsNotReadBeforeThereAreValues) {
  const SharedPage empty(kProgressPageName, kProgressPageBytes);
  ASSERT_NE(empty.data(), nullptr);
  EXPECT_FALSE(read_progress("/proc/self/fd/" + std::to_string(empty.fd())));
}

}  // namespace
}  // namespace dtl::progress_page_test
