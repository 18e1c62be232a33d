// Nodes that start an agent before the room asks for one.

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "tests/launcher/room_fixture.h"

namespace dtl::agent_at_once_test {
namespace {

using room_fixture::kSoon;
using ::testing::HasSubstr;

class AgentAtOnce : public room_fixture::RoomTest {
 protected:
  AgentAtOnce() { options_.expected.count = 1; }

  JoinCall node() const {
    JoinCall made = call(0);
    made.agent_at_once = true;
    return made;
  }
  // The lines that agents have written.
  std::string notes() const {
    std::ostringstream all;
    all << std::ifstream(folder_ + "/notes").rdbuf();
    return all.str();
  }
  bool wait_notes(const std::string& wanted) const {
    const auto end = std::chrono::steady_clock::now() + kSoon;
    while (notes() != wanted && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return notes() == wanted;
  }
  // It writes a line at its start, and another when its input ends.
  void make_noting_agent() {
    const std::string file = folder_ + "/notes";
    make_agent("echo begun >>" + file + "; cat; echo ended >>" + file);
  }
};

TEST_F(AgentAtOnce, IsReadyBeforeTheRoomAsksAndIsTheOneThatItGets) {
  make_noting_agent();
  open();
  auto zero = join(node());
  EXPECT_TRUE(wait_notes("begun\n"));
  EXPECT_EQ(talk(0, "x"), std::pair(std::string("x"), std::string("exit status 0")));
  EXPECT_EQ(notes(), "begun\nended\n");
  EXPECT_EQ(talk(0, "y").first, "y");  // the next one starts on request
  room_->finish(0, kSoon);
  EXPECT_EQ(zero.get(), 0);
  EXPECT_EQ(notes(), "begun\nended\nbegun\nended\n");
}

TEST_F(AgentAtOnce, EndsBeforeAnotherThatTheRoomWantsInItsPlace) {
  make_agent("echo \"$*\" >>" + folder_ +
             "/notes; case $1 in --serve) cat;; esac; echo \"$* ended\" >>" + folder_ + "/notes");
  open();
  auto zero = join(node());
  EXPECT_TRUE(wait_notes("--serve --unsignalled\n"));
  talk(0, "", {"--fence", "0123456789abcdef"});
  room_->finish(0, kSoon);
  EXPECT_EQ(zero.get(), 0);
  EXPECT_EQ(notes(),
            "--serve --unsignalled\n--serve --unsignalled ended\n--fence 0123456789abcdef\n"
            "--fence 0123456789abcdef ended\n");
}

// A node that is asked this late is a spare node of a restarted job.
TEST_F(AgentAtOnce, GivesWayToANewOneWhereItIsAskedForLate) {
  make_noting_agent();
  open();
  auto zero = join(node());
  EXPECT_TRUE(wait_notes("begun\n"));
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_EQ(talk(0, "x").first, "x");
  room_->finish(0, kSoon);
  EXPECT_EQ(zero.get(), 0);
  EXPECT_EQ(notes(), "begun\nended\nbegun\nended\n");
}

TEST_F(AgentAtOnce, ThatHasLeftGivesWayToANewOne) {
  const std::string file = folder_ + "/notes";
  make_agent("[ -e " + file + " ] && exec cat; exec echo left >" + file);
  open();
  auto zero = join(node());
  EXPECT_TRUE(wait_notes("left\n"));
  std::this_thread::sleep_for(std::chrono::seconds(1));  // it may take a moment to end
  EXPECT_EQ(talk(0, "x").first, "x");
  room_->finish(0, kSoon);
  EXPECT_EQ(zero.get(), 0);
}

TEST_F(AgentAtOnce, HasEndedWhenTheJobIsOverWithoutAskingForOne) {
  make_noting_agent();
  open();
  auto zero = join(node());
  EXPECT_TRUE(wait_notes("begun\n"));
  ASSERT_TRUE(wait_present({"n0"}));
  room_->finish(3, kSoon);
  EXPECT_EQ(zero.get(), 3);
  EXPECT_EQ(notes(), "begun\nended\n");
}

TEST_F(AgentAtOnce, HasEndedWhenTheNodeFindsNoRoom) {
  make_noting_agent();
  open();
  JoinCall early = node();
  room_.reset();
  early.patience = std::chrono::seconds(1);
  EXPECT_THROW(serve_joined_job(early), Error);
  EXPECT_EQ(notes(), "begun\nended\n");
}

TEST_F(AgentAtOnce, ThatCannotStartIsToldToTheRoomWhenItAsks) {
  open();
  JoinCall without = node();
  without.agent_path = folder_ + "/nothing";
  auto zero = join(without);
  EXPECT_THAT(talk(0, "").second, HasSubstr("cannot start " + folder_ + "/nothing"));
  room_->finish(0, kSoon);
  EXPECT_EQ(zero.get(), 0);
}

}  // namespace
}  // namespace dtl::agent_at_once_test
