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

TEST(AsTyped, PutsOptionsWhereTheyAreNamed) {
  const std::vector<TypedOption> options = {{"--np", "-n 04"},
                                            {"--bind-to", "job.toml:3: bind_to = \"x\""}};
  EXPECT_STREQ(as_typed(option_error("-np 4", "why", "-np 3"), options).what(),
               "-n 04: why. Try: -np 3");
  EXPECT_STREQ(as_typed(Error(Exit::kConfig, "n1: --bind-to=x", "why"), options).what(),
               "n1: job.toml:3: bind_to = \"x\": why");
  EXPECT_STREQ(as_typed(Error(Exit::kOs, "np 4", "why"), options).what(), "np 4: why");
}

TEST(CannotWrite, SaysWhereToMakeRoomIfThatIsWhatIsMissing) {
  EXPECT_STREQ(cannot_write("/data/out/a", Error(Exit::kIo, "x", errno_text(ENOSPC))).what(),
               "/data/out/a: cannot write: No space left on device. Try: df -h /data/out");
  EXPECT_STREQ(cannot_write("a", Error(Exit::kIo, "x", errno_text(EDQUOT))).what(),
               "a: cannot write: Disk quota exceeded. Try: df -h .");
  EXPECT_STREQ(cannot_write("/data/out/a", Error(Exit::kOs, "x", errno_text(EACCES))).what(),
               "/data/out/a: cannot write: Permission denied. Try: ls -ld /data/out");
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
