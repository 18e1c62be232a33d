#include "plan/request/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace dtl::hostlist_test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> expand(std::string_view pattern) {
  return expand_hostlist(pattern, {"column "});
}

std::string error_of(std::string_view pattern) {
  try {
    expand(pattern);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    return error.what();
  }
  return "no error";
}

TEST(Hostlist, LeavesAPlainNameAlone) {
  EXPECT_THAT(expand("node-01.example"), ElementsAre("node-01.example"));
}

TEST(Hostlist, ExpandsNumbersInsideBracketsAndKeepsZeros) {
  EXPECT_THAT(expand("n[01-04,07]"), ElementsAre("n01", "n02", "n03", "n04", "n07"));
  EXPECT_THAT(expand("n[8-11]"), ElementsAre("n8", "n9", "n10", "n11"));
  EXPECT_THAT(expand("n[098-101]b"), ElementsAre("n098b", "n099b", "n100b", "n101b"));
}

TEST(Hostlist, ExpandsWholeNamesInsideBrackets) {
  EXPECT_THAT(expand("[n01-n03]"), ElementsAre("n01", "n02", "n03"));
  EXPECT_THAT(expand("[login,n01-n02]"), ElementsAre("login", "n01", "n02"));
  EXPECT_THAT(expand("[gpu-a1-gpu-a2]"), ElementsAre("gpu-a1", "gpu-a2"));
  EXPECT_THAT(expand("[node-01]"), ElementsAre("node-01"));
}

TEST(Hostlist, MultipliesSeveralSetsLastOneFastest) {
  EXPECT_THAT(expand("r[1-2]n[1-2]"), ElementsAre("r1n1", "r1n2", "r2n1", "r2n2"));
}

TEST(Hostlist, ExpandsAddresses) {
  EXPECT_THAT(expand("10.0.0.[9-10]"), ElementsAre("10.0.0.9", "10.0.0.10"));
}

TEST(Hostlist, NamesTheColumnOfWhatIsWrong) {
  EXPECT_EQ(error_of("n[04-01]"), "column 3: the range '04-01' runs backwards. Try: 01-04");
  EXPECT_EQ(error_of("[n4-n1]"), "column 2: the range 'n4-n1' runs backwards. Try: n1-n4");
  EXPECT_EQ(error_of("n[01-04"), "column 2: '[01-04' has no ']'. Try: n[01-04], without blanks");
  EXPECT_EQ(error_of("n01]"), "column 4: ']' without '[' before it. Try: dtlaunch help hostfile");
  EXPECT_EQ(error_of("n[1-[2]]"), "column 5: '[' inside '[...]'. Try: dtlaunch help hostfile");
  EXPECT_EQ(error_of("n[1,,2]"),
            "column 5: nothing stands between the commas of '[1,,2]'. Try: dtlaunch help hostfile");
  EXPECT_EQ(error_of("n[]"),
            "column 3: nothing stands between the commas of '[]'. Try: dtlaunch help hostfile");
  EXPECT_EQ(error_of(""), "column 1: a host name is missing. Try: dtlaunch help hostfile");
}

TEST(Hostlist, DoesNotGuessWhatAHalfRangeMeans) {
  EXPECT_EQ(error_of("[n01-04]"),
            "column 2: 'n01-04' is not a range of one name. Try: n[01-04] or [n01-n04]");
  EXPECT_EQ(error_of("[n01-m04]"),
            "column 2: 'n01-m04' is not a range of one name. Try: n[01-04] or [n01-n04]");
}

TEST(Hostlist, BoundsTheNumberOfHostsBeforeMakingThem) {
  EXPECT_EQ(expand("n[1-65536]").size(), 65536u);
  EXPECT_EQ(error_of("n[1-65537]"),
            "column 3: the range '1-65537' has more than 65536 hosts. Try: dtlaunch help hostfile");
  EXPECT_EQ(error_of("n[0-9999999999999]"),
            "column 3: the range '0-9999999999999' has more than 65536 hosts. Try: "
            "dtlaunch help hostfile");
  EXPECT_EQ(error_of("[1-300][1-300]"),
            "column 1: '[1-300][1-300]' has more than 65536 hosts. Try: dtlaunch help hostfile");
  EXPECT_EQ(error_of("n[1-99999999999999999999]"),
            "column 3: the numbers of '1-99999999999999999999' are too large. Try: "
            "dtlaunch help hostfile");
}

TEST(Hostlist, BoundsTheLengthOfAName) {
  EXPECT_EQ(expand(std::string(253, 'a')).size(), 1u);
  EXPECT_EQ(error_of(std::string(254, 'a')),
            "column 1: the name '" + std::string(32, 'a') +
                "...' is longer than 253 characters. Try: dtlaunch help hostfile");
}

}  // namespace
}  // namespace dtl::hostlist_test
