// Links through shared memory: what arrives, what wakes a sleeper, and how a faulty or dead peer
// can affect this rank.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <numeric>
#include <thread>

#include "ring/links/shm_node.h"

namespace dtl::ring::test::share_test {
namespace {

using ::testing::HasSubstr;

// Accepts every frame, or none while `admits` is false.
struct Taker : Sink {
  std::optional<std::byte*> admit(int, const FrameHead& head, const OperationHeader*) override {
    if (!admits) return std::nullopt;
    buffer.assign(head.bytes, std::byte{0});
    return buffer.data();
  }
  void arrived(int, const FrameHead& head, std::byte* payload) override {
    was_copied = payload == buffer.data();
    frames.emplace_back(head, std::vector<std::byte>(payload, payload + head.bytes));
    if (head.is_answered != 0) std::reverse(payload, payload + head.bytes);
  }
  void sent(int, const FrameHead& head) override { sequences_sent.push_back(head.sequence); }
  void left(int, std::uint64_t) override {}
  void broken(int, int error) override { errors.push_back(error); }

  bool admits = true, was_copied = false;
  std::vector<std::byte> buffer;
  std::deque<std::pair<FrameHead, std::vector<std::byte>>> frames;
  std::vector<std::uint32_t> sequences_sent;
  std::vector<int> errors;
};

FrameHead frame(Lane lane, std::uint32_t sequence, std::size_t bytes) {
  FrameHead head;
  head.magic = kFrameMagic;
  head.lane = static_cast<std::uint8_t>(lane);
  head.sequence = sequence;
  head.bytes = static_cast<std::uint32_t>(bytes);
  return head;
}

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> values(bytes);
  for (std::size_t i = 0; i < bytes; ++i) values[i] = static_cast<std::byte>(i * 7 + seed);
  return values;
}

// Two ranks of one node, in one process.
struct Two {
  ShmNode left, right;
  std::unique_ptr<Link> to_right, to_left;
  Taker at_left, at_right;

  explicit Two(int world = 2) : left(world), right(world) {
    const std::vector<std::string> addresses{left.address(), right.address()};
    EXPECT_EQ(left.open(0, addresses), "");
    EXPECT_EQ(right.open(1, addresses), "");
    to_right = left.make_link(1, 1);
    to_left = right.make_link(0, 0);
  }
  void step() {
    to_right->step(at_left);
    to_left->step(at_right);
  }
};

TEST(Share, CarriesFramesOfEveryLaneAndSizeInOrder) {
  Two two;
  std::uint32_t sequence = 0;
  for (const Lane lane : {Lane::kSmall, Lane::kBulk, Lane::kPair}) {
    for (const std::size_t bytes : {0, 1, 63, 8192, 8193, 32768, 32769, 100000, 131072}) {
      const auto sent = pattern(bytes, ++sequence);
      ASSERT_TRUE(two.to_right->can_begin(lane));
      two.to_right->begin(frame(lane, sequence, bytes), nullptr, sent.data(), nullptr);
      for (int i = 0; i < 3; ++i) two.step();
      ASSERT_EQ(two.at_right.frames.size(), 1u) << bytes;
      EXPECT_EQ(two.at_right.frames[0].first.sequence, sequence);
      EXPECT_EQ(two.at_right.frames[0].second, sent);
      two.at_right.frames.clear();
      EXPECT_TRUE(two.to_right->is_sent());
    }
  }
  std::vector<std::uint32_t> all(sequence);
  std::iota(all.begin(), all.end(), 1u);
  EXPECT_EQ(two.at_left.sequences_sent, all);
}

// Slots that were made for every rank of the world had no room for long payloads.
TEST(Share, SlotsOfAPairAreAsLongInALargeWorld) {
  const Two small, large(200);
  const std::byte data{};
  for (const Lane lane : {Lane::kSmall, Lane::kBulk, Lane::kPair}) {
    EXPECT_EQ(large.to_right->frame_bytes(lane, &data, nullptr, 1),
              small.to_right->frame_bytes(lane, &data, nullptr, 1));
  }
}

TEST(Share, NodesOfEverySizeFitIntoTheirSegments) {
  for (const std::size_t world : {2, 16, 17, 128, 129, 1024}) {
    for (std::size_t locals = 1; locals <= world; ++locals) {
      ASSERT_LE(Layout(locals).bytes, Layout::most_bytes(world)) << locals << " of " << world;
    }
  }
}

TEST(Share, HoldsFramesUntilTheyAreAdmittedAndSaysWhenItIsFull) {
  Two two;
  two.at_right.admits = false;
  const auto sent = pattern(40000, 1);
  std::uint32_t begun = 0;
  while (two.to_right->can_begin(Lane::kBulk)) {
    two.to_right->begin(frame(Lane::kBulk, begun++, sent.size()), nullptr, sent.data(), nullptr);
    two.step();
  }
  EXPECT_EQ(begun, kSlots);
  EXPECT_TRUE(two.at_right.frames.empty());
  EXPECT_FALSE(two.to_right->is_sent());
  EXPECT_TRUE(two.to_right->can_begin(Lane::kSmall));  // lanes do not block each other
  two.at_right.admits = true;
  for (int i = 0; i < 6; ++i) two.step();
  EXPECT_EQ(two.at_right.frames.size(), kSlots);
  EXPECT_TRUE(two.to_right->is_sent());
}

// After a step that moved nothing, events that the step has already seen do not wake the sleeper.
TEST(Share, MovesWhenAPeerFreesSlotsSoThatTheNextFrameBegins) {
  Two two;
  const auto sent = pattern(1000, 1);
  std::uint32_t begun = 0;
  while (two.to_right->can_begin(Lane::kBulk)) {
    two.to_right->begin(frame(Lane::kBulk, begun++, sent.size()), nullptr, sent.data(), nullptr);
  }
  while (two.to_right->step(two.at_left)) {
  }
  ASSERT_TRUE(two.to_right->is_sent());  // copied to the slots, which are now full
  ASSERT_FALSE(two.to_right->can_begin(Lane::kBulk));
  while (two.to_left->step(two.at_right)) {
  }
  ASSERT_EQ(two.at_right.frames.size(), kSlots);
  EXPECT_TRUE(two.to_right->step(two.at_left));
  EXPECT_TRUE(two.to_right->can_begin(Lane::kBulk));
  EXPECT_FALSE(two.to_right->step(two.at_left));
}

TEST(Share, ReadsAllocatedMemoryWhereItIs) {
  Two two;
  for (int round = 0; round < 3; ++round) {
    auto* memory = static_cast<std::byte*>(two.left.allocations().alloc(300000));
    ASSERT_NE(memory, nullptr);
    const auto sent = pattern(100000, static_cast<unsigned>(round));
    std::memcpy(memory + 1000, sent.data(), sent.size());
    two.to_right->begin(frame(Lane::kBulk, 1, sent.size()), nullptr, memory + 1000, nullptr);
    for (int i = 0; i < 3; ++i) two.step();
    ASSERT_EQ(two.at_right.frames.size(), 1u);
    EXPECT_EQ(two.at_right.frames[0].second, sent);
    EXPECT_FALSE(two.at_right.was_copied);
    two.at_right.frames.clear();
    EXPECT_TRUE(two.left.allocations().free(memory));
    EXPECT_FALSE(two.left.allocations().free(memory));
  }
  // More allocations than the table has rows: the others are read like any memory.
  std::vector<void*> many;
  for (std::size_t i = 0; i < kMaxRegions + 3; ++i)
    many.push_back(two.left.allocations().alloc(4096));
  two.to_right->begin(frame(Lane::kBulk, 2, 4096), nullptr,
                      static_cast<const std::byte*>(many.back()), nullptr);
  for (int i = 0; i < 3; ++i) two.step();
  EXPECT_EQ(two.at_right.frames.size(), 1u);
}

// Sends `payload`, and expects its reverse at `answer`.
void expect_answer(Two& two, const std::byte* payload, std::byte* answer, std::size_t bytes,
                   bool is_copied) {
  std::vector<std::byte> values(payload, payload + bytes);
  FrameHead head = frame(Lane::kBulk, 1, bytes);
  head.is_answered = 1;
  two.to_right->begin(head, nullptr, payload, answer);
  two.to_right->step(two.at_left);
  EXPECT_TRUE(two.at_left.sequences_sent.empty());  // not before the answer has arrived
  for (int i = 0; i < 2; ++i) two.step();
  EXPECT_EQ(two.at_left.sequences_sent.size(), 1u);
  ASSERT_EQ(two.at_right.frames.size(), 1u);
  EXPECT_EQ(two.at_right.frames[0].second, values);
  EXPECT_EQ(two.at_right.was_copied, is_copied);
  std::reverse(values.begin(), values.end());
  EXPECT_TRUE(std::equal(values.begin(), values.end(), answer));
  two.at_left.sequences_sent.clear();
  two.at_right.frames.clear();
}

TEST(Share, BringsAnswersWhereTheyAreWanted) {
  Two two;
  constexpr std::size_t kBytes = 30000;
  std::vector<std::byte> values = pattern(kBytes, 5);
  const std::vector<std::byte> before = values;
  std::vector<std::byte> elsewhere(kBytes);
  expect_answer(two, values.data(), elsewhere.data(), kBytes, false);
  EXPECT_EQ(values, before);
  expect_answer(two, values.data(), values.data(), kBytes, false);  // through a slot

  auto* memory = static_cast<std::byte*>(two.left.allocations().alloc(100000));
  ASSERT_NE(memory, nullptr);
  std::memcpy(memory, before.data(), kBytes);
  expect_answer(two, memory, memory, kBytes, false);
  std::memcpy(memory, before.data(), kBytes);
  expect_answer(two, memory, elsewhere.data(), kBytes, false);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), memory));  // no answer written over it

  // Not in the table of mapped memory: through system calls.
  std::vector<std::byte*> many;
  for (std::size_t i = 0; i < kMaxRegions; ++i) {
    many.push_back(static_cast<std::byte*>(two.left.allocations().alloc(kBytes)));
  }
  std::memcpy(many.back(), before.data(), kBytes);
  expect_answer(two, many.back(), many.back(), kBytes, true);
}

TEST(Share, WritesNoAnswerToAPeerThatHasLeft) {
  Two two;
  auto* memory = static_cast<std::byte*>(two.left.allocations().alloc(8192));
  ASSERT_NE(memory, nullptr);
  const std::vector<std::byte> before = pattern(8192, 7);
  std::memcpy(memory, before.data(), before.size());
  FrameHead head = frame(Lane::kBulk, 1, before.size());
  head.is_answered = 1;
  two.to_right->begin(head, nullptr, memory, memory);
  two.left.withdraw();
  two.step();
  EXPECT_THAT(two.at_right.errors, ::testing::ElementsAre(ECANCELED));
  EXPECT_TRUE(two.at_right.frames.empty());
  EXPECT_TRUE(std::equal(before.begin(), before.end(), memory));
}

TEST(Share, WakesASleeperForEveryFrame) {
  Two two;
  constexpr std::uint32_t kRounds = 20000;
  // Each side sleeps until the other's frame arrives; a lost wake-up leads to the timeout.
  const auto play = [&](ShmNode& share, Link& link, Taker& taker, bool begins) {
    std::uint64_t value = 0;
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      if (begins || round > 0) {
        link.begin(frame(Lane::kSmall, round, sizeof value), nullptr,
                   reinterpret_cast<const std::byte*>(&value), nullptr);
      }
      for (;;) {
        link.step(taker);
        if (!taker.frames.empty()) break;
        if (share.begin_sleep()) {
          pollfd entry{share.wake_fd(), POLLIN, 0};
          if (::poll(&entry, 1, 10000) != 1) return round;
        }
        share.end_sleep();
        share.clear_wake();
      }
      taker.frames.clear();
    }
    if (!begins) {
      link.begin(frame(Lane::kSmall, kRounds, sizeof value), nullptr,
                 reinterpret_cast<const std::byte*>(&value), nullptr);
      link.step(taker);
    }
    return kRounds;
  };
  std::uint32_t of_right = 0;
  std::thread other([&] { of_right = play(two.right, *two.to_left, two.at_right, false); });
  EXPECT_EQ(play(two.left, *two.to_right, two.at_left, true), kRounds);
  other.join();
  EXPECT_EQ(of_right, kRounds);
}

// The first fields of ShmNode::address().
struct Numbers {
  std::int32_t pid, memory;
};
Numbers numbers_in(const std::string& address) {
  Numbers numbers;
  std::memcpy(&numbers, address.data(), sizeof numbers);
  return numbers;
}

TEST(Share, SurvivesAPeerThatWritesGarbage) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    Two two;
    two.to_right->begin(frame(Lane::kSmall, 1, 4), nullptr,
                        reinterpret_cast<const std::byte*>(&seed), nullptr);
    const Layout layout(2);
    const Mapping mine =
        Mapping::of(numbers_in(two.left.address()).memory, layout.bytes, PROT_READ | PROT_WRITE, 0);
    ASSERT_NE(mine.data(), nullptr);
    std::srand(seed);
    // After the header: counters and slots.
    for (std::size_t i = 4096; i < layout.bytes; ++i) {
      if (std::rand() % 3 == 0) mine.data()[i] = static_cast<std::byte>(std::rand());
    }
    for (int i = 0; i < 5; ++i) two.to_left->step(two.at_right);
    EXPECT_THAT(two.at_right.errors, ::testing::Contains(EPROTO)) << seed;
  }
}

TEST(Share, RefusesWhoDoesNotKnowTheTokenOrIsNotThere) {
  ShmNode left(2), right(2);
  std::string wrong = right.address();
  wrong.back() = static_cast<char>(wrong.back() ^ 1);
  EXPECT_THAT(left.open(0, {left.address(), wrong}), HasSubstr("cannot use the memory of"));
  ShmNode other_size(3);
  EXPECT_THAT(left.open(0, {left.address(), other_size.address()}),
              HasSubstr("cannot use the memory of"));
  std::string gone = right.address();
  const std::int32_t nobody = 0x7ffffffe;
  std::memcpy(gone.data(), &nobody, sizeof nobody);
  EXPECT_THAT(left.open(0, {left.address(), gone}), HasSubstr("cannot open the memory of"));
  EXPECT_THAT(left.open(0, {left.address(), ""}), HasSubstr("has no shared memory"));
  EXPECT_EQ(left.open(0, {left.address(), right.address()}), "");
}

TEST(Share, NamesAnErrorWhenThePeerIsKilled) {
  int to_child[2], to_parent[2];
  ASSERT_EQ(::pipe(to_child), 0);
  ASSERT_EQ(::pipe(to_parent), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ShmNode share(2);
    std::string address = share.address(), other(address.size(), '\0');
    (void)!::write(to_parent[1], address.data(), address.size());
    (void)!::read(to_child[0], other.data(), other.size());
    if (!share.open(1, {other, address}).empty()) ::_exit(1);
    const auto link = share.make_link(0, 0);
    const std::vector<std::byte> sent(100000);
    link->begin(frame(Lane::kBulk, 1, sent.size()), nullptr, sent.data(), nullptr);
    (void)!::write(to_parent[1], "r", 1);
    ::pause();
  }
  ShmNode share(2);
  std::string address = share.address(), other(address.size(), '\0');
  ASSERT_EQ(::read(to_parent[0], other.data(), other.size()), static_cast<ssize_t>(other.size()));
  ASSERT_EQ(share.open(0, {address, other}), "");
  (void)!::write(to_child[1], address.data(), address.size());
  char ready = 0;
  ASSERT_EQ(::read(to_parent[0], &ready, 1), 1);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  const auto link = share.make_link(1, 1);
  Taker taker;
  for (int i = 0; i < 3; ++i) link->step(taker);
  EXPECT_THAT(taker.errors, ::testing::ElementsAre(ESRCH));
  EXPECT_TRUE(taker.frames.empty());
  for (const int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(fd);
}

std::size_t count(const char* folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(Share, LeavesNoDescriptors) {
  { Two warm; }
  const std::size_t before = count("/proc/self/fd");
  for (int i = 0; i < 20; ++i) {
    Two two;
    EXPECT_NE(two.left.allocations().alloc(100000), nullptr);
  }
  EXPECT_EQ(count("/proc/self/fd"), before);
}

}  // namespace
}  // namespace dtl::ring::test::share_test
