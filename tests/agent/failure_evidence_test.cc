#include "agent/job/failure_evidence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace dtl::failure_evidence_test {
namespace {

constexpr std::uint64_t kGib = 1 << 20;  // in KiB

TEST(FailureEvidence, BlamesMemoryOnlyForARankThatIsLargeOnItsNode) {
  EXPECT_FALSE(is_large_on_node(3 << 10, 24 * kGib))
      << "a shell, while another job ran out of memory";
  EXPECT_TRUE(is_large_on_node(2 * kGib, 1024 * kGib)) << "one of 512 ranks that fill their node";
  EXPECT_TRUE(is_large_on_node(20 * kGib, 24 * kGib));
  EXPECT_FALSE(is_large_on_node(0, 24 * kGib));
}

// The kernel reuses pids, and a killed agent leaves its files.
TEST(FailureEvidence, TakesNothingFromAKilledAgentOfTheSameNumber) {
  const std::string grace = "DTLAUNCH_GRACE_FILE=", error = "TORCHELASTIC_ERROR_FILE=";
  const auto path_of = [](const std::vector<std::string>& variables, const std::string& name) {
    const auto found =
        std::find_if(variables.begin(), variables.end(),
                     [&](const std::string& each) { return each.starts_with(name); });
    return found == variables.end() ? std::string() : found->substr(name.size());
  };
  FailureEvidence killed("00112233aabbcc00");
  const std::string folder =
      std::filesystem::path(path_of(killed.file_variables(3, {}), grace)).parent_path();
  std::ofstream(folder + "/grace") << "1.000\n";
  std::ofstream(folder + "/rank.3.json") << "{\"message\": \"an old error\"}";
  FailureEvidence evidence("00112233aabbcc00");
  const auto variables = evidence.file_variables(3, {});
  EXPECT_EQ(path_of(variables, grace), folder + "/grace");
  EXPECT_FALSE(std::filesystem::exists(folder + "/grace"));
  EXPECT_EQ(path_of(variables, error), folder + "/rank.3.json");
  EXPECT_EQ(evidence.about(3, false, 0).error_file, "");
}

}  // namespace
}  // namespace dtl::failure_evidence_test
