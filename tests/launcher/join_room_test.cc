// JoinRoom and JoinCaller, over loopback.

#include "launcher/join/join_room.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "base/error.h"
#include "tests/launcher/room_fixture.h"

namespace dtl::join_room_test {
namespace {

using namespace std::chrono_literals;

using room_fixture::kSoon;
using room_fixture::kToken;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Fd connect_to(int port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return Fd();
  return fd;
}

// Waits until the other end closes. Returns what it sent, or nullopt if it does not close.
std::optional<std::string> read_to_end(const Fd& fd) {
  std::string all;
  char buffer[4096];
  for (;;) {
    pollfd waiting{fd.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 30'000) <= 0) return std::nullopt;
    const ssize_t size = ::read(fd.get(), buffer, sizeof buffer);
    if (size <= 0) return all;
    all.append(buffer, static_cast<std::size_t>(size));
  }
}

class Room : public room_fixture::RoomTest {};

template <class Act>
Error error_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error;
  }
  return Error(Exit::kOk, "no error", "");
}

TEST_F(Room, StartsAgentsOnNodesOneAfterTheOtherAndTellsTheJobsEnd) {
  open();
  auto one = join(call(1)), zero = join(call(0));
  ASSERT_TRUE(wait_present({"n0", "n1"}));
  const std::string text(300'000, 'x');
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(talk(1, text), std::pair(text, std::string("exit status 0")));
  }
  room_->finish(3, kSoon);
  EXPECT_EQ(zero.get(), 3);
  EXPECT_EQ(one.get(), 3);
}

TEST_F(Room, StartsAgentsWithTheArgumentsThatTheyAreGiven) {
  make_agent("echo \"$*\"");
  open();
  auto one = join(call(1));
  ASSERT_TRUE(wait_present({"", "n1"}));
  EXPECT_EQ(talk(1, "").first, "--serve --unsignalled\n");
  EXPECT_EQ(talk(1, "", {"--fence", "0123456789abcdef"}).first, "--fence 0123456789abcdef\n");
  room_->finish(0, kSoon);
  EXPECT_EQ(one.get(), 0);
}

TEST_F(Room, EndsAgentsOfNodesThatWillNotComeWithTheReason) {
  open();
  auto waiting = std::async(std::launch::async, [this] { return talk(0, "").second; });
  room_->give_up("srun ended: exit status 1");
  EXPECT_EQ(waiting.get(), "srun ended: exit status 1");
  EXPECT_EQ(talk(0, "").second, "srun ended: exit status 1");
  EXPECT_FALSE(connect_to(room_->port()).valid());
}

TEST_F(Room, ListensOnlyWhileSomebodyIsMissing) {
  open();
  auto zero = join(call(0));
  ASSERT_TRUE(wait_present({"n0", ""}));
  EXPECT_TRUE(connect_to(room_->port()).valid());
  auto one = join(call(1));
  ASSERT_TRUE(wait_present({"n0", "n1"}));
  EXPECT_FALSE(connect_to(room_->port()).valid());
  room_->finish(0, kSoon);
  EXPECT_EQ(one.get(), 0);
}

TEST_F(Room, RefusesAnotherToken) {
  open();
  JoinCall stranger = call(0);
  stranger.token = std::string(32, 'u');
  const Error error = error_of([&] { serve_joined_job(stranger); });
  EXPECT_EQ(error.status(), Exit::kAuth);
  EXPECT_THAT(error.what(), HasSubstr("DTL_TOKEN_FILE"));
  EXPECT_THAT(room_->present(), ElementsAre("", ""));
}

TEST_F(Room, RefusesANodeThatIsNotOfTheJobAndSaysWhy) {
  open();
  const Error error = error_of([&] { serve_joined_job(call(2)); });
  EXPECT_EQ(error.status(), Exit::kConfig);
  EXPECT_THAT(error.what(), HasSubstr("it has 2 nodes"));
}

TEST_F(Room, HangsUpOnWhoSaysNothingOrGarbageOrTooMuch) {
  open();
  const Fd silent = connect_to(room_->port()), garbage = connect_to(room_->port()),
           endless = connect_to(room_->port());
  write_all(garbage.get(), "GET / HTTP/1.1\r\n\r\n");
  // A TLS record longer than an unauthenticated caller may send.
  write_all(endless.get(), std::string("\x16\x03\x01\x40\x00", 5) + std::string(8192, '\0'));
  EXPECT_TRUE(read_to_end(garbage));
  EXPECT_TRUE(read_to_end(endless));
  EXPECT_EQ(read_to_end(silent), "");
  auto zero = join(call(0));
  EXPECT_TRUE(wait_present({"n0", ""}));
  EXPECT_EQ(talk(0, "x").first, "x");
  room_.reset();
  EXPECT_EQ(zero.get(), 137);
}

TEST_F(Room, HearsOutSixtyFourStrangersAtATime) {
  open();
  std::vector<Fd> silent;
  for (int i = 0; i < 64; ++i) silent.push_back(connect_to(room_->port()));
  const auto began = std::chrono::steady_clock::now();
  const Fd one_more = connect_to(room_->port());
  EXPECT_EQ(read_to_end(one_more), "");
  // Much earlier than the others, which have 3 s each, unless this test was delayed.
  pollfd first{silent.front().get(), POLLIN, 0};
  if (std::chrono::steady_clock::now() - began < 2s) {
    EXPECT_EQ(::poll(&first, 1, 0), 0);
  }
  auto zero = join(call(0));  // joins after the others have timed out
  EXPECT_TRUE(wait_present({"n0", ""}));
  room_->finish(0, kSoon);
  EXPECT_EQ(zero.get(), 0);
}

TEST_F(Room, ASecondCallerForAPlaceWaitsUntilTheFirstIsGone) {
  open();
  const pid_t first = start_node();
  ASSERT_TRUE(wait_present({"n0", ""}));
  JoinCall again = call(0);
  again.hello.name = "again";
  auto second = join(again);
  auto other = join(call(1));
  ASSERT_TRUE(wait_present({"n0", "n1"}));
  ::kill(first, SIGKILL);
  ::waitpid(first, nullptr, 0);
  // A caller from while the port was open gets the place at once. The port reopens for agents.
  ASSERT_TRUE(wait_present({"", "n1"}, {"again", "n1"}));
  EXPECT_EQ(talk(0, "x").first, "x");
  EXPECT_THAT(room_->present(), ElementsAre("again", "n1"));
  room_->finish(0, kSoon);
  EXPECT_EQ(second.get(), 0);
  EXPECT_EQ(other.get(), 0);
}

TEST_F(Room, ANodeThatIsToldToEndAsksForTheJobsEnd) {
  std::promise<std::string> asked;
  options_.expected.count = 1;
  options_.told_to_stop = [&](std::size_t, const std::string& node) { asked.set_value(node); };
  open();
  auto zero = join(call(0));
  ASSERT_TRUE(wait_present({"n0"}));
  EXPECT_EQ(talk(0, "x").first, "x");  // it knows that it has a seat
  ::kill(::getpid(), SIGTERM);
  auto who = asked.get_future();
  ASSERT_EQ(who.wait_for(kSoon), std::future_status::ready);
  EXPECT_EQ(who.get(), "n0");
  EXPECT_THAT(room_->leaving(), ElementsAre(true));
  room_->finish(143, kSoon);
  EXPECT_EQ(zero.get(), 143);
}

TEST_F(Room, ANodeThatIsLostEndsItsAgentsStreamAndMayComeBack) {
  options_.expected.count = 1;
  make_agent("kill -9 $PPID");
  open();
  const pid_t node = start_node();
  ASSERT_TRUE(wait_present({"n0"}));
  const auto [heard, ending] = talk(0, "x");
  EXPECT_EQ(heard, "");
  EXPECT_EQ(ending, kConnectionLost);
  ::waitpid(node, nullptr, 0);
}

TEST_F(Room, IsOpenAgainOnceANodeIsLostWhereThatIsWanted) {
  options_.reopens = true;
  options_.expected.count = 1;
  open();
  const pid_t node = start_node();
  ASSERT_TRUE(wait_present({"n0"}));
  ::kill(node, SIGKILL);
  ::waitpid(node, nullptr, 0);
  ASSERT_TRUE(wait_present({""}));
  auto again = join(call(0));
  ASSERT_TRUE(wait_present({"n0"}));
  room_->finish(0, kSoon);
  EXPECT_EQ(again.get(), 0);
}

TEST_F(Room, ANodeThatIsDismissedHasItsStatusAndTheOthersStay) {
  open();
  auto zero = join(call(0)), one = join(call(1));
  ASSERT_TRUE(wait_present({"n0", "n1"}));
  room_->dismiss(1, 143);
  EXPECT_EQ(one.get(), 143);
  ASSERT_TRUE(wait_present({"n0", ""}));
  EXPECT_EQ(talk(0, "x").first, "x");
  room_->finish(0, kSoon);
  EXPECT_EQ(zero.get(), 0);
}

TEST_F(Room, WhereAnAgentWasLostWithItsNodeIsNotIdle) {
  options_.reopens = true;
  options_.expected.count = 1;
  make_agent("kill -9 $PPID; exec sleep 1");
  open();
  EXPECT_TRUE(room_->is_idle(0));
  const pid_t node = start_node();
  ASSERT_TRUE(wait_present({"n0"}));
  EXPECT_EQ(talk(0, "x").second, kConnectionLost);
  ::waitpid(node, nullptr, 0);
  EXPECT_FALSE(room_->is_idle(0));
  make_agent("exec cat");
  auto again = join(call(0));  // another process: the first one's ranks may still run
  ASSERT_TRUE(wait_present({"n0"}));
  EXPECT_FALSE(room_->is_idle(0));
  EXPECT_EQ(talk(0, "x").first, "x");
  EXPECT_TRUE(room_->is_idle(0));
  EXPECT_TRUE(room_->may_run_elsewhere(0));  // this caller's report is not about the first one
  room_->finish(0, kSoon);
  EXPECT_EQ(again.get(), 0);
}

TEST_F(Room, ThatIsLostIsLookedForAgainWithWhatRanThereEnded) {
  options_.expected.count = 1;
  make_agent("echo $$ >>" + folder_ + "/agents; exec cat");
  open();
  JoinCall node = call(0);
  node.comes_again = true;
  auto zero = join(node);
  ASSERT_TRUE(wait_present({"n0"}));
  asio::io_context context;
  const auto stream = room_->start_agent(context, 0);
  const auto end = std::chrono::steady_clock::now() + kSoon;
  const auto agent = [this]() -> pid_t {
    std::ifstream file(folder_ + "/agents");
    pid_t pid = 0;
    return file >> pid ? pid : 0;
  };
  while (agent() == 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  ASSERT_GT(agent(), 0);
  const auto port = static_cast<std::uint16_t>(room_->port());
  room_.reset();
  options_.ports = {port, port};
  open();
  ASSERT_TRUE(wait_present({"n0"}));
  EXPECT_EQ(::kill(agent(), 0), -1) << "it came again before its agent had ended";
  room_->finish(3, kSoon);
  EXPECT_EQ(zero.get(), 3);
}

TEST_F(Room, ThatIsLostForGoodCountsAsALostNode) {
  options_.expected.count = 1;
  open();
  JoinCall node = call(0);
  node.comes_again = true;
  node.patience = 1s;
  auto zero = join(node);
  ASSERT_TRUE(wait_present({"n0"}));
  EXPECT_EQ(talk(0, "x").first, "x");  // it knows that it has a seat
  room_.reset();
  EXPECT_EQ(zero.get(), 137);
}

TEST_F(Room, WhoFindsNoRoomGivesUpInTimeAndSaysWhatItLookedFor) {
  open();
  JoinCall early = call(0);
  room_.reset();
  early.patience = 1s;
  const Error error = error_of([&] { serve_joined_job(early); });
  EXPECT_EQ(error.status(), Exit::kTimeout);
  EXPECT_THAT(error.what(), HasSubstr(std::to_string(early.port)));
  EXPECT_THAT(error.what(), HasSubstr("refused"));
}

// The last attempt has no time left to resolve the name. Its failure must not hide earlier ones.
TEST_F(Room, WhoIsRefusedUnderANameSaysThatAndNotThatTimeIsUp) {
  open();
  JoinCall early = call(0);
  room_.reset();
  early.host = "localhost";
  early.patience = 1s;
  const Error error = error_of([&] { serve_joined_job(early); });
  EXPECT_THAT(error.what(), HasSubstr("refused"));
}

}  // namespace
}  // namespace dtl::join_room_test
