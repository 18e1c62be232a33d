#include "base/error.h"

#include <gtest/gtest.h>

namespace dtl {
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

}  // namespace
}  // namespace dtl
