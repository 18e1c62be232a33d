#include "plan/schedulers/slurm_hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "tests/support/folders.h"

namespace dtl::slurm_hostlist_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> expand(std::string_view text) {
  return expand_slurm_hostlist(text, {"LIST: column "});
}

template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    return error.what();
  }
  return "no error";
}

// The expected values are scontrol's own output.
TEST(SlurmHostlist, ExpandsAsScontrolDoes) {
  int rows = 0;
  const std::string table =
      read_file(test::source_path("tests/data/schedulers/slurm22-hostlist.tsv"), 1 << 16);
  for (const std::string& line : split(table, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    ++rows;
    const std::size_t tab = line.find('\t');
    const std::string expression = line.substr(0, tab), expected = line.substr(tab + 1);
    if (expected == "ERROR") {
      EXPECT_THAT(error_of([&] { expand(expression); }), testing::StartsWith("LIST: column "))
          << expression;
    } else {
      EXPECT_EQ(join(expand(expression), " "), expected) << expression;
    }
  }
  EXPECT_EQ(rows, 29);
}

TEST(SlurmHostlist, SaysWhereItIsWrong) {
  EXPECT_THAT(error_of([] { expand("a,n[1-2]-ib0"); }), HasSubstr("column 9: '-ib0'"));
  EXPECT_THAT(error_of([] { expand("n[1,3-1]"); }), HasSubstr("column 5: the range '3-1'"));
  EXPECT_THAT(error_of([] { expand("n[1,,2]"); }), HasSubstr("column 5: "));
  EXPECT_THAT(error_of([] { expand("n[1-2"); }), HasSubstr("column 2: "));
  EXPECT_THAT(error_of([] { expand("n1]"); }), HasSubstr("column 3: "));
  EXPECT_THAT(error_of([] { expand("n[[1]]"); }), HasSubstr("column 3: "));
  EXPECT_THAT(error_of([] { expand(",,"); }), HasSubstr("names no host"));
}

TEST(SlurmHostlist, IsBounded) {
  EXPECT_EQ(expand("n[1-65536]").size(), 65536u);
  EXPECT_EQ(expand("n[0-255][0-255]").size(), 65536u);
  EXPECT_THAT(error_of([] { expand("n[1-65537]"); }), HasSubstr("65536"));
  EXPECT_THAT(error_of([] { expand("n[0-65535],m"); }), HasSubstr("column 12: more than 65536"));
  EXPECT_THAT(error_of([] { expand("n[0-256][0-255][0-65535]"); }), HasSubstr("65536"));
  EXPECT_THAT(error_of([] { expand(std::string(250, 'n') + "[1-1000]"); }), HasSubstr("longer"));
}

TEST(SlurmHostlist, KnowsWhenTheOrderIsSlurmsOwn) {
  EXPECT_FALSE(has_several_brackets("n[1-2],m[3-4]"));
  EXPECT_TRUE(has_several_brackets("login,r[1,2]n[1-2]"));
}

TEST(SlurmCounts, AreOneNumberForEachNode) {
  const auto counts = [](std::string_view text, std::size_t nodes) {
    return expand_slurm_counts(text, nodes, {"COUNTS: column "});
  };
  EXPECT_THAT(counts("2(x3),1", 4), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(counts("8", 1), ElementsAre(8));
  const auto refusal = [&](std::string_view text, std::size_t nodes) {
    return error_of([&] { counts(text, nodes); });
  };
  EXPECT_THAT(refusal("2(x3)", 4), HasSubstr("column 1: it has numbers for 3 of 4 nodes"));
  EXPECT_THAT(refusal("1,2(x3)", 3), HasSubstr("column 3: it has numbers for more than 3 nodes"));
  EXPECT_THAT(refusal("2(x99999999999)", 4), HasSubstr("column 1: "));
  for (const char* bad : {"", "2,", "x", "0", "-1", "2(3)", "2(x3", "2(x)", "2(x0)", "70000"}) {
    EXPECT_THAT(refusal(bad, 1), HasSubstr("neither a number nor")) << bad;
  }
}

}  // namespace
}  // namespace dtl::slurm_hostlist_test
