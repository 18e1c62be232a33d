#include "trainer/json/json_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace dtl::trainer::json_depth_test {
namespace {

TEST(JsonDepth, CountsListsAndObjectsInsideEachOther) {
  EXPECT_FALSE(nests_too_deep(std::string(100, '[') + std::string(100, ']')));
  EXPECT_TRUE(nests_too_deep(std::string(101, '[')));
  EXPECT_TRUE(nests_too_deep(std::string(100, '[') + "{}"));
}

TEST(JsonDepth, DoesNotCountWhatIsClosed) {
  std::string beside;
  for (int i = 0; i < 1000; ++i) beside += "[{}],";
  EXPECT_FALSE(nests_too_deep("[" + beside + "0]"));
}

TEST(JsonDepth, DoesNotLookIntoTexts) {
  const std::string brackets(200, '[');
  EXPECT_FALSE(nests_too_deep("{\"a\": \"" + brackets + "\"}"));
  EXPECT_FALSE(nests_too_deep("\"\\\"" + brackets + "\""));     // behind an escaped quote
  EXPECT_TRUE(nests_too_deep("[\"\\\\\", " + brackets + "]"));  // behind an escaped backslash
}

}  // namespace
}  // namespace dtl::trainer::json_depth_test
