#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/fd.h"

namespace dtl::error_test {
namespace {

TEST(Error, SaysWhatWhyAndNext) {
  const Error error(Exit::kAuth, "cannot start agent", "key refused", "ssh node02 true");
  EXPECT_STREQ(error.with_context("node02").what(),
               "node02: cannot start agent: key refused. Try: ssh node02 true");
  EXPECT_EQ(error.status(), Exit::kAuth);
}

TEST(Error, LeavesOutAnEmptyHint) {
  EXPECT_STREQ(Error(Exit::kOs, "cannot fork", "no memory").what(), "cannot fork: no memory");
}

TEST(Error, PutsTheHintBelowAReasonOfSeveralLines) {
  const Error error(Exit::kConfig, "no network", "\n  n1 cannot reach n2", "--iface");
  EXPECT_STREQ(error.what(), "no network:\n  n1 cannot reach n2\nTry: --iface");
}

TEST(CannotWrite, SaysWhereToMakeRoomIfThatIsWhatIsMissing) {
  EXPECT_STREQ(cannot_write("/data/out/a", Error(Exit::kIo, "x", errno_text(ENOSPC))).what(),
               "cannot write '/data/out/a': No space left on device. Try: df -h /data/out");
  EXPECT_STREQ(cannot_write("a", Error(Exit::kIo, "x", errno_text(EDQUOT))).what(),
               "cannot write 'a': Disk quota exceeded. Try: df -h .");
  EXPECT_STREQ(cannot_write("/data/out/a", Error(Exit::kOs, "x", errno_text(EACCES))).what(),
               "cannot write '/data/out/a': Permission denied");
}

TEST(SystemError, NamesTheLimitThatWasReached) {
  errno = EMFILE;
  EXPECT_STREQ(system_error("cannot open a file").what(),
               "cannot open a file: Too many open files. Try: ulimit -Hn");
  errno = EAGAIN;
  EXPECT_EQ(system_error("cannot read").hint(), "");
}

}  // namespace
}  // namespace dtl::error_test
