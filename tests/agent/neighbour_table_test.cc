#include "agent/node/neighbour_table.h"

#include <gtest/gtest.h>

namespace dtl::neighbour_table_test {
namespace {

TEST(NeighbourTable, AddsTheRefusalsOfAllCpus) {
  EXPECT_EQ(parse_neighbour_refusals("entries  allocs table_fulls\n"
                                     "00000002 00000a28 00000010\n"
                                     "00000002 0000082c 00000001\n"),
            0x11u);
}

// Kernels before 4.10 have no such column.
TEST(NeighbourTable, DoesNotGuess) {
  EXPECT_EQ(parse_neighbour_refusals("entries  allocs\n00000002 00000a28\n"), std::nullopt);
  EXPECT_EQ(parse_neighbour_refusals(""), std::nullopt);
}

}  // namespace
}  // namespace dtl::neighbour_table_test
