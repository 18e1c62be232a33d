// Communicators in programs whose soft limit of descriptors is low, as that of most is.
#include "ring/common/descriptors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "base/fd.h"
#include "ring/common/comm_error.h"
#include "tests/ring/ring_support.h"

namespace dtl::ring::test::descriptors_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Sets the limits of this process, and the old soft one at the end.
class Limits {
 public:
  Limits() { ::getrlimit(RLIMIT_NOFILE, &before_); }
  ~Limits() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  Limits(const Limits&) = delete;
  Limits& operator=(const Limits&) = delete;
  void set_soft(std::size_t soft) const {
    const rlimit limit{soft, before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }

 private:
  rlimit before_{};
};

// What `say` returns, of a process whose hard limit is `free` above what it has open.
std::string in_process_with(std::size_t free, const std::function<std::string()>& say) {
  Pipe pipe = make_pipe();
  const pid_t child = ::fork();
  if (child == 0) {
    const std::size_t most = descriptor_use().open + free;
    const rlimit limit{most - 1, most};
    const std::string said = ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? say() : "setrlimit";
    (void)!::write(pipe.write_end.get(), said.data(), said.size());
    ::_exit(0);
  }
  pipe.write_end.reset();
  std::string said(4096, '\0');
  const ssize_t bytes = ::read(pipe.read_end.get(), said.data(), said.size());
  said.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  ::waitpid(child, nullptr, 0);
  return said;
}

TEST(Descriptors, SoftLimitIsRaisedOnlyAsFarAsNeeded) {
  const Limits limits;
  const std::size_t open = descriptor_use().open;
  if (descriptor_use().hard < open + 400) GTEST_SKIP() << "the hard limit is too low";
  limits.set_soft(open + 100);
  provide_descriptors(20, "cannot meet");
  EXPECT_EQ(descriptor_use().soft, open + 100) << "there are enough";
  provide_descriptors(200, "cannot meet");
  EXPECT_GE(descriptor_use().soft, open + 200);
  EXPECT_LE(descriptor_use().soft, open + 300);
}

TEST(Descriptors, HardLimitThatIsTooLowIsNamed) {
  const std::string said = in_process_with(50, [] {
    try {
      provide_descriptors(200, "cannot meet 201 ranks");
    } catch (const CommError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  });
  const std::size_t open = descriptor_use().open;
  const auto number = [&](std::size_t more) { return std::to_string(open + more); };
  // Two more than here: the child's pipe.
  EXPECT_THAT(said, AllOf(HasSubstr("cannot meet 201 ranks"),
                          HasSubstr("needs " + number(202) + " descriptors"),
                          HasSubstr("soft limit is " + number(51)),
                          HasSubstr("hard limit " + number(52)), HasSubstr("ulimit -Hn")));
}

TEST(Descriptors, RankZeroRefusesBeforeItListens) {
  const Place place = free_place();
  const std::string said =
      in_process_with(100, [&] { return join_later(options_for(place, 0, 1000)).get().error; });
  EXPECT_THAT(said, AllOf(HasSubstr("cannot meet 1000 ranks"), HasSubstr("hard limit")));
}

TEST(Descriptors, RanksMeetThoughTheSoftLimitIsLow) {
  const Limits limits;
  limits.set_soft(descriptor_use().open + 12);
  constexpr int kRanks = 3;
  Place place = free_place();
  std::vector<std::future<Joined>> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.push_back(join_later(options_for(place, rank, kRanks)));
  expect_ring_works(ranks);
}

}  // namespace
}  // namespace dtl::ring::test::descriptors_test
