// Counts how often our processes copy a byte of a rank's output, from the read of the rank's pipe
// to the write to the terminal. The agent's and the launcher's end of a conversation run side by
// side here, and this program's memcpy and memmove count the bytes of text. The promise is four
// copies. A busy rank's bytes are copied once; with the kernel's uncounted copies before the last
// write (from the pipe, into the socket, out of it), that makes four.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include "agent/job/output.h"
#include "base/error.h"
#include "base/fd.h"
#include "launcher/screen/console.h"
#include "wire/fd_stream.h"
#include "wire/task_group.h"

namespace {

constexpr double kMost = 4;
constexpr double kOnce = 1.1;  // lines cut in two cost a little more
constexpr char kMark = '~';    // what the ranks write; nothing else does
std::atomic<bool> g_counting{false};
std::atomic<std::uint64_t> g_copied{0};  // marks

// Byte by byte, so that the compiler does not turn it into a memcpy call.
void* copy_and_count(void* to, const void* from, std::size_t size) {
  auto* target = static_cast<volatile char*>(to);
  const auto* source = static_cast<const volatile char*>(from);
  std::uint64_t marks = 0;
  if (g_counting.load(std::memory_order_relaxed)) {
    for (std::size_t i = 0; i < size; ++i) marks += source[i] == kMark ? 1 : 0;
    g_copied.fetch_add(marks, std::memory_order_relaxed);
  }
  if (to <= from) {
    for (std::size_t i = 0; i < size; ++i) target[i] = source[i];
  } else {
    for (std::size_t i = size; i > 0; --i) target[i - 1] = source[i - 1];
  }
  return to;
}

}  // namespace

// Replaces the C library's, for this program and its libraries.
extern "C" {
void* counted_copy(void* to, const void* from, std::size_t size) __asm__("memcpy");
void* counted_move(void* to, const void* from, std::size_t size) __asm__("memmove");
void* counted_copy_checked(void*, const void*, std::size_t, std::size_t) __asm__("__memcpy_chk");
void* counted_move_checked(void*, const void*, std::size_t, std::size_t) __asm__("__memmove_chk");
void* counted_copy(void* to, const void* from, std::size_t size) {
  return copy_and_count(to, from, size);
}
void* counted_move(void* to, const void* from, std::size_t size) {
  return copy_and_count(to, from, size);
}
void* counted_copy_checked(void* to, const void* from, std::size_t size, std::size_t) {
  return copy_and_count(to, from, size);
}
void* counted_move_checked(void* to, const void* from, std::size_t size, std::size_t) {
  return copy_and_count(to, from, size);
}
}

namespace dtl::output_copies_test {
namespace {

struct Agent {
  asio::io_context& context;
  Connection connection;
  OutputRules rules;
  std::vector<std::unique_ptr<RankCredit>> credits;
  std::vector<std::unique_ptr<RankOutput>> outputs;
  std::size_t open = 0;
};

awaitable<void> forward(Agent& agent, std::size_t rank, Fd pipe) {
  co_await agent.outputs[rank]->forward(agent.context, std::move(pipe));
  if (--agent.open == 0) agent.connection.finish();
}

awaitable<void> take_credit(Agent& agent) {
  while (const auto message = co_await agent.connection.receive()) {
    if (const auto* credit = std::get_if<Credit>(&*message)) {
      agent.credits[credit->rank]->give_back(credit->bytes);
    }
  }
}

awaitable<void> write_then_close(Connection& connection) {
  co_await connection.run_writer();
  connection.close();
}

awaitable<void> write_credit(Connection& connection) {
  try {
    co_await connection.run_writer();
  } catch (const Error&) {  // the agent needs no more of it
  }
}

// Until the agent ends the conversation. If it left with unread credit, that is a broken
// connection.
awaitable<void> show(Connection& connection, Console& console) {
  try {
    while (auto message = co_await connection.receive()) {
      if (auto* output = std::get_if<Output>(&*message)) {
        console.rank_output(std::move(*output), JobTime{0});
      }
    }
  } catch (const Error&) {
  }
  console.finish();
  connection.close();
}

// What each rank writes, in pieces of this many bytes. With `patient`, the next piece follows when
// the launcher has written the previous one.
struct Text {
  std::string text;
  std::size_t piece = 64 << 10;
  bool patient = false;
};

std::string lines(std::size_t count, std::size_t length) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += std::string(length - 1, kMark) + "\n";
  return text;
}

struct Shown {
  std::string text;
  double copies = 0;  // of each byte that a rank wrote
};

class Copies : public testing::Test {
 protected:
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }

  // The ranks write the same on this stream.
  Shown run(std::size_t ranks, const Text& text, Stream stream = Stream::kStdout) {
    asio::io_context context;
    SocketPair line = make_socketpair(SOCK_STREAM);
    Pipe screen = make_pipe();
    Agent agent{context,
                {context, make_fd_stream(context, std::move(line.first)), ""},
                OutputRules{256 << 10, kHoldForever, ""},
                {},
                {},
                ranks};
    Connection launcher(context, make_fd_stream(context, std::move(line.second)), "");
    const auto give_credit = [&](std::vector<Credit> credits) {
      asio::post(context, [&launcher, credits] {
        for (const Credit& credit : credits) launcher.send(credit);
      });
    };
    auto console = std::make_unique<Console>(
        OutputWriter::Descriptors{screen.write_end.get(), screen.write_end.get()}, options_,
        OutputWriter::Events{{}, give_credit, {}});
    console->set_ranks(ranks);
    Shown shown;
    std::atomic<std::size_t> seen{0};
    std::jthread reader([&] { read_screen(screen.read_end.get(), shown.text, seen); });
    TaskGroup tasks(context);
    std::vector<Fd> pipes;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      console->set_rank(static_cast<int>(rank), {});
      Pipe pipe = make_pipe();
      agent.credits.push_back(std::make_unique<RankCredit>(context, agent.connection, agent.rules));
      agent.outputs.push_back(std::make_unique<RankOutput>(agent.connection, *agent.credits.back(),
                                                           rank, stream, nullptr));
      tasks.spawn(forward(agent, rank, std::move(pipe.read_end)));
      pipes.push_back(std::move(pipe.write_end));
    }
    tasks.spawn(write_then_close(agent.connection));
    tasks.spawn(write_credit(launcher));
    tasks.spawn(show(launcher, *console));
    tasks.spawn(take_credit(agent));
    std::jthread writer([&] { write_text(pipes, text, seen); });
    g_copied = 0;
    g_counting = true;
    context.run();
    console.reset();
    g_counting = false;
    screen.write_end.reset();
    writer.join();
    reader.join();
    const auto written = static_cast<double>(std::count(text.text.begin(), text.text.end(), kMark) *
                                             static_cast<long>(ranks));
    shown.copies = static_cast<double>(g_copied.load()) / written;
    RecordProperty("copies", std::to_string(shown.copies));
    std::printf("    each byte is copied %.2f times\n", shown.copies);
    return shown;
  }

  static void read_screen(int fd, std::string& text, std::atomic<std::size_t>& seen) {
    text.reserve(64 << 20);
    static char buffer[1 << 16];
    for (ssize_t n = 0; (n = ::read(fd, buffer, sizeof buffer)) > 0; seen += std::size_t(n)) {
      for (ssize_t i = 0; i < n; ++i) text.push_back(buffer[i]);  // no memcpy
    }
  }

  static void write_text(std::vector<Fd>& pipes, const Text& text,
                         const std::atomic<std::size_t>& seen) {
    for (std::size_t at = 0; at < text.text.size(); at += text.piece) {
      for (Fd& pipe : pipes) {
        const std::size_t size = std::min(text.piece, text.text.size() - at);
        for (std::size_t done = 0; done < size;) {
          const ssize_t n = ::write(pipe.get(), text.text.data() + at + done, size - done);
          if (n > 0) done += static_cast<std::size_t>(n);
        }
      }
      while (text.patient && seen < at) std::this_thread::yield();
    }
    pipes.clear();
  }

  ConsoleOptions options_;
};

TEST_F(Copies, OfABusyRank) {
  const Text text{lines(50'000, 80)};
  const Shown shown = run(1, text);
  EXPECT_TRUE(shown.text == text.text);
  EXPECT_LE(shown.copies, kOnce);
}

TEST_F(Copies, WithoutLineEnds) {
  const Text text{std::string(4 << 20, kMark)};
  const Shown shown = run(1, text);
  EXPECT_TRUE(shown.text == text.text);
  EXPECT_LE(shown.copies, kOnce);
}

TEST_F(Copies, OfLinesWithALabel) {
  options_.label = LineLabel::parse("[%r] ");
  const Shown shown = run(1, {lines(50'000, 80)});
  EXPECT_EQ(shown.text.size(), 50'000u * 84);
  EXPECT_LE(shown.copies, kMost);
}

TEST_F(Copies, OfLongLinesWithALabel) {
  options_.label = LineLabel::parse("[%r] ");
  const Shown shown = run(2, {lines(100, 40'000)});
  EXPECT_EQ(shown.text.size(), 2 * 100 * 40'004u);
  EXPECT_LE(shown.copies, kMost);
}

TEST_F(Copies, OfLinesThatComeOneByOne) {
  options_.label = LineLabel::parse("[%r] ");
  const Shown shown = run(1, {lines(2'000, 100), 100, true});
  EXPECT_EQ(shown.text.size(), 2'000u * 104);
  EXPECT_LE(shown.copies, kMost);
}

TEST_F(Copies, OfLinesThatComeInPieces) {
  options_.label = LineLabel::parse("[%r] ");
  const Shown shown = run(1, {lines(2'000, 100), 33});
  EXPECT_EQ(shown.text.size(), 2'000u * 104);
  EXPECT_LE(shown.copies, kMost);
}

TEST_F(Copies, OfEqualLinesThatAreFolded) {
  options_.label = LineLabel::parse("[%r] ");
  options_.fold = true;
  const Shown shown = run(2, {lines(1'000, 100), 100});
  EXPECT_GE(shown.text.size(), 1'000u * 104);
  EXPECT_LE(shown.copies, kMost);
}

TEST_F(Copies, OfStandardError) {
  const Text text{lines(20'000, 80)};
  const Shown shown = run(1, text, Stream::kStderr);
  EXPECT_TRUE(shown.text == text.text);
  EXPECT_LE(shown.copies, kOnce);
}

TEST_F(Copies, IntoAFileOfTheRanksOwn) {
  const std::string folder = std::filesystem::temp_directory_path() / "dtl-copies-XXXXXX";
  std::string path = folder;
  ASSERT_NE(::mkdtemp(path.data()), nullptr);
  options_.outfile = LineLabel::parse(path + "/%r");
  const Text text{lines(50'000, 80)};
  const Shown shown = run(1, text);
  EXPECT_EQ(shown.text, "");
  EXPECT_TRUE(read_file(path + "/0", 64 << 20) == text.text);
  EXPECT_LE(shown.copies, kOnce);
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace dtl::output_copies_test
