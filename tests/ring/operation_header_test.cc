#include "ring/links/operation_header.h"

#include <gtest/gtest.h>

#include "ring/dtring.h"

namespace dtl::ring::operation_header_test {
namespace {

OperationHeader allreduce() {
  OperationHeader header;
  header.magic = kOperationMagic;
  header.opcode = Opcode::kAllreduce;
  header.dtype = DT_F32;
  header.op = DT_SUM;
  header.count = 12;
  header.tag = 7;
  return header;
}

TEST(OperationHeader, SaysWhatTheOperationIs) {
  EXPECT_EQ(describe(allreduce()), "allreduce of 12 f32, sum, tag 7");
}

// From a peer of another version, or a faulty one.
TEST(OperationHeader, DescribesTypesAndOpsThatDoNotExist) {
  OperationHeader header = allreduce();
  header.dtype = header.op = 0x9d;
  EXPECT_EQ(describe(header), "allreduce of 12 unknown type, unknown op, tag 7");
  header.opcode = Opcode::kReduce;
  EXPECT_EQ(describe(header), "reduce of 12 unknown type, unknown op, to rank 0, tag 7");
}

}  // namespace
}  // namespace dtl::ring::operation_header_test
