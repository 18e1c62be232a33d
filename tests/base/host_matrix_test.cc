#include "base/host_matrix.h"

#include <gtest/gtest.h>

#include <sstream>

namespace dtl::host_matrix_test {
namespace {

TEST(LinkTable, SaysFromWhomAndToWhom) {
  EXPECT_EQ(link_table({"node1", "n2"}, {{-1, 9.414}, {-1, -1}}),
            "Gbit/s from (rows) to (columns)\n"
            "             1      2\n"
            "1 node1      .   9.41\n"
            "2 n2         -      .\n");
}

TEST(LinkTable, StaysWithin80Columns) {
  const std::vector<std::string> names(40, "a-host-with-quite-a-long-name");
  const std::string text = link_table(names, std::vector(40, std::vector<double>(40, 123.4)));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

}  // namespace
}  // namespace dtl::host_matrix_test
