#include "launcher/screen/output_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <future>
#include <set>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace dtl::output_writer_test {
namespace {

class OutputWriterTest : public testing::Test {
 protected:
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }

  std::string read_to_end(Pipe& pipe) {
    pipe.write_end.reset();
    std::string all;
    char buffer[65536];
    for (ssize_t n = 0; (n = ::read(pipe.read_end.get(), buffer, sizeof buffer)) > 0;) {
      all.append(buffer, static_cast<std::size_t>(n));
    }
    return all;
  }

  Pipe out_ = make_pipe(), err_ = make_pipe();
};

TEST_F(OutputWriterTest, WritesEverythingBeforeItGoes) {
  {
    OutputWriter output({out_.write_end.get(), err_.write_end.get()}, false, {});
    output.write({{Stream::kStdout, "one\n"}, {Stream::kStderr, "two\n"}});
    output.write({{Stream::kStdout, "three\n"}});
  }
  EXPECT_EQ(read_to_end(out_), "one\nthree\n");
  EXPECT_EQ(read_to_end(err_), "two\n");
}

TEST_F(OutputWriterTest, KeepsTheOrderOfBothStreamsOnOneScreen) {
  {
    OutputWriter output({out_.write_end.get(), out_.write_end.get()}, true, {});
    for (int i = 0; i < 100; ++i) {
      output.write({{i % 2 == 0 ? Stream::kStdout : Stream::kStderr, std::to_string(i) + " "}});
    }
  }
  std::string expected;
  for (int i = 0; i < 100; ++i) expected += std::to_string(i) + " ";
  EXPECT_EQ(read_to_end(out_), expected);
}

TEST_F(OutputWriterTest, SaysOnceThatNobodyReads) {
  std::promise<void> closed;
  int calls = 0;
  out_.read_end.reset();
  {
    OutputWriter output({out_.write_end.get(), err_.write_end.get()}, false,
                        {[&] {
                           if (++calls == 1) closed.set_value();
                         },
                         {},
                         {}});
    output.write({{Stream::kStdout, "x"}});
    output.write({{Stream::kStdout, "y"}});
    ASSERT_EQ(closed.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
    output.write({{Stream::kStdout, "z"}});
  }
  EXPECT_EQ(calls, 1);
}

TEST_F(OutputWriterTest, GivesCreditBackOnlyForWhatHasBeenWritten) {
  std::promise<std::vector<Credit>> written;
  std::future<std::vector<Credit>> credits = written.get_future();
  const std::string piece(1 << 20, 'x');  // more than the pipe holds
  std::future<std::size_t> reader;
  {
    OutputWriter output(
        {out_.write_end.get(), err_.write_end.get()}, false,
        {{}, [&](const std::vector<Credit>& some) { written.set_value(some); }, {}});
    output.write({{Stream::kStdout, piece, Credit{3, 1 << 20}}});
    EXPECT_EQ(credits.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    reader = std::async(std::launch::async, [fd = out_.read_end.get(), size = piece.size()] {
      std::size_t seen = 0;
      char buffer[65536];
      while (seen < size) {
        const ssize_t n = ::read(fd, buffer, sizeof buffer);
        if (n <= 0) break;
        seen += static_cast<std::size_t>(n);
      }
      return seen;
    });
    ASSERT_EQ(credits.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  }
  const std::vector<Credit> given = credits.get();
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0].rank, 3u);
  EXPECT_EQ(given[0].bytes, 1u << 20);
  EXPECT_EQ(reader.get(), piece.size());
}

TEST_F(OutputWriterTest, CountsWhatItDropsForASlowTerminal) {
  const std::string piece(1 << 20, 'x');
  OutputWriter output({out_.write_end.get(), err_.write_end.get()}, false, {});
  output.set_lossy(true);
  for (int i = 0; i < 8; ++i) output.write({{Stream::kStdout, piece}});
  EXPECT_GE(output.dropped_bytes(), 2 * piece.size());
  out_.read_end.reset();  // unblocks the writer
}

TEST_F(OutputWriterTest, SaysThatADiskIsFullAndGoesOn) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.valid());
  int closed = 0;
  std::set<std::pair<Stream, int>> failures;
  std::size_t all_lost = 0;
  std::promise<void> all;
  std::size_t credited = 0;
  OutputWriter output({full.get(), err_.write_end.get()}, false,
                      {[&] { ++closed; },
                       [&](const std::vector<Credit>& some) {
                         for (const Credit& each : some) credited += each.bytes;
                         if (credited == 9) all.set_value();
                       },
                       [&](Stream stream, int problem, std::size_t lost) {
                         failures.emplace(stream, problem);
                         all_lost += lost;
                       }});
  for (int i = 0; i < 3; ++i) output.write({{Stream::kStdout, "abc", Credit{0, 3}}});
  ASSERT_EQ(all.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(closed, 0);
  EXPECT_EQ(failures, (std::set<std::pair<Stream, int>>{{Stream::kStdout, ENOSPC}}));
  EXPECT_EQ(all_lost, 9U);
}

TEST(TerminalColumns, AreEightyWhenThereIsNoTerminal) {
  const Pipe pipe = make_pipe();
  ::unsetenv("COLUMNS");
  EXPECT_EQ(terminal_columns(pipe.read_end.get()), 80);
}

}  // namespace
}  // namespace dtl::output_writer_test
