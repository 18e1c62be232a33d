#include "wire/connection.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "frame_bytes.h"
#include "wire/fd_stream.h"
#include "wire/task_group.h"

namespace dtl::connection_test {
namespace {

// Two connections over a socket pair; `far` is also usable as a plain descriptor.
struct Ends {
  asio::io_context context;
  std::unique_ptr<Connection> near;
  Fd far;

  Ends() {
    ::signal(SIGPIPE, SIG_IGN);
    SocketPair pair = make_socketpair(SOCK_STREAM);
    near = std::make_unique<Connection>(context, make_fd_stream(context, std::move(pair.first)),
                                        std::string());
    far = std::move(pair.second);
  }
  std::unique_ptr<Connection> far_connection() {
    return std::make_unique<Connection>(context, make_fd_stream(context, std::move(far)), "");
  }
};

awaitable<void> collect(Connection& connection, std::vector<Message>& messages, std::size_t count) {
  while (messages.size() < count) {
    const auto message = co_await connection.receive();
    if (!message) co_return;
    messages.push_back(*message);
  }
  connection.close();
}

void run(asio::io_context& context, TaskGroup& group) {
  std::exception_ptr failure;
  asio::co_spawn(context, group.join(), [&](std::exception_ptr e) { failure = e; });
  context.run();
  if (failure) std::rethrow_exception(failure);
}

TEST(Connection, CarriesMessagesInOrderWithHeartbeatsBehindTheFirst) {
  Ends ends;
  const auto far = ends.far_connection();
  ends.near->send(Started{1, 10});
  ends.near->send(Started{2, 20});
  ends.near->send(Heartbeat{5});
  ends.near->finish();
  std::vector<Message> messages;
  TaskGroup group(ends.context);
  group.spawn(ends.near->run_writer());
  group.spawn(collect(*far, messages, 3));
  run(ends.context, group);
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(std::get<Started>(messages[0]).rank, 1u) << "it greets";
  EXPECT_TRUE(std::holds_alternative<Heartbeat>(messages[1]));
  EXPECT_EQ(std::get<Started>(messages[2]).rank, 2u);
  EXPECT_EQ(ends.near->queued_bytes(), 0u);
}

awaitable<void> produce(Connection& connection, int count, std::size_t& most_queued) {
  for (int i = 0; i < count; ++i) {
    co_await connection.wait_below(1 << 18);
    connection.send(Output{0, Stream::kStdout, std::string(kMaxOutputBytes, 'x')});
    most_queued = std::max(most_queued, connection.queued_bytes());
  }
  connection.finish();
}

TEST(Connection, BoundsItsQueueForAProducerThatWaits) {
  Ends ends;
  const auto far = ends.far_connection();
  std::vector<Message> messages;
  std::size_t most_queued = 0;
  TaskGroup group(ends.context);
  group.spawn(ends.near->run_writer());
  group.spawn(produce(*ends.near, 200, most_queued));
  group.spawn(collect(*far, messages, 200));
  run(ends.context, group);
  EXPECT_EQ(messages.size(), 200u);
  EXPECT_LT(most_queued, (1u << 18) + kMaxOutputBytes + 100);
}

awaitable<void> collect_until_exit(Connection& connection, std::vector<Message>& messages) {
  while (messages.empty() || !std::holds_alternative<Exited>(messages.back())) {
    const auto message = co_await connection.receive();
    if (!message) co_return;
    messages.push_back(*message);
  }
}

awaitable<void> print_lines(asio::io_context& context, Connection& connection, int count) {
  for (int i = 0; i < count; ++i) {
    const Stream stream = i % 100 < 90 ? Stream::kStdout : Stream::kStderr;
    connection.send(Output{7, stream, "line " + std::to_string(i) + "\n"});
    co_await asio::post(context, asio::use_awaitable);  // the writer may write it
  }
  connection.send(Exited{7, 0, 0});
  connection.finish();
}

TEST(Connection, CarriesManyShortLinesTogetherInTheirOrder) {
  constexpr int kLines = 1000;
  Ends ends;
  const auto far = ends.far_connection();
  std::vector<Message> messages;
  TaskGroup group(ends.context);
  group.spawn(ends.near->run_writer());
  group.spawn(print_lines(ends.context, *ends.near, kLines));
  group.spawn(collect_until_exit(*far, messages));
  const auto begin = std::chrono::steady_clock::now();
  run(ends.context, group);
  const auto passed = std::chrono::steady_clock::now() - begin;
  ASSERT_FALSE(messages.empty());
  ASSERT_TRUE(std::holds_alternative<Exited>(messages.back()));
  messages.pop_back();
  std::string text, expected;
  for (const Message& message : messages) text += std::get<Output>(message).bytes;
  for (int i = 0; i < kLines; ++i) expected += "line " + std::to_string(i) + "\n";
  EXPECT_EQ(text, expected);
  // Two for each change of the stream, and one for each 10 ms.
  EXPECT_LE(messages.size(), 2U * kLines / 100 + 2 +
                                 static_cast<std::size_t>(passed / std::chrono::milliseconds(10)));
  EXPECT_EQ(ends.near->queued_bytes(), 0U);
}

TEST(Connection, ClosesALinkThatTakesNothing) {
  Ends ends;
  const Output output{0, Stream::kStdout, std::string(kMaxOutputBytes, 'x')};
  for (std::size_t sent = 0; sent <= Connection::kMaxQueuedBytes; sent += kMaxOutputBytes) {
    ends.near->send(output);
  }
  EXPECT_TRUE(ends.near->closed());
}

TEST(Connection, EndsItsTasksWhenItIsClosed) {
  Ends ends;
  std::vector<Message> messages;
  TaskGroup group(ends.context);
  group.spawn(ends.near->run_writer());
  group.spawn(collect(*ends.near, messages, 1));
  asio::post(ends.context, [&] { ends.near->close(); });
  run(ends.context, group);
  EXPECT_TRUE(messages.empty());
}

TEST(Connection, SeesTheEndOfTheStream) {
  Ends ends;
  ends.far.reset();
  std::vector<Message> messages;
  TaskGroup group(ends.context);
  group.spawn(collect(*ends.near, messages, 1));
  run(ends.context, group);
  EXPECT_TRUE(messages.empty());
}

TEST(Connection, RefusesGarbage) {
  Ends ends;
  write_all(ends.far.get(), "this is certainly not a frame");
  std::vector<Message> messages;
  TaskGroup group(ends.context);
  group.spawn(collect(*ends.near, messages, 1));
  EXPECT_THROW(run(ends.context, group), Error);
}

TEST(Connection, ReadsWhatArrivedWithTheGreeting) {
  Ends ends;
  Connection connection(ends.context, make_fd_stream(ends.context, std::move(ends.far)),
                        frame_bytes(Kill{}, 0));
  std::vector<Message> messages;
  TaskGroup group(ends.context);
  group.spawn(collect(connection, messages, 1));
  run(ends.context, group);
  EXPECT_EQ(messages.size(), 1u);
}

TEST(FdStream, WorksOverTwoDescriptors) {
  asio::io_context context;
  Pipe there = make_pipe(), back = make_pipe();
  auto stream = make_fd_stream(context, std::move(there.read_end), std::move(back.write_end));
  write_all(there.write_end.get(), "ping");
  std::string received;
  TaskGroup group(context);
  const auto talk = [&]() -> awaitable<void> {
    received = co_await stream->read();
    co_await stream->write("pong");
  };
  group.spawn(talk());
  run(context, group);
  char answer[4] = {};
  EXPECT_EQ(received, "ping");
  EXPECT_EQ(::read(back.read_end.get(), answer, 4), 4);
}

// Resumes over another socket pair after this many messages.
awaitable<void> resume_after(asio::io_context& context, Connection& near, Connection& far,
                             std::vector<Message>& messages, std::size_t count) {
  while (messages.size() < count) messages.push_back(*co_await far.receive());
  far.detach();
  near.detach();
  EXPECT_FALSE(co_await far.receive());
  near.send(Heartbeat{1});  // lost, and not needed any more
  near.send(Started{9, 90});
  SocketPair pair = make_socketpair(SOCK_STREAM);
  EXPECT_TRUE(far.attach(make_fd_stream(context, std::move(pair.first)), "", near.link().received(),
                         std::nullopt));
  EXPECT_TRUE(near.attach(make_fd_stream(context, std::move(pair.second)), "",
                          far.link().received(), std::nullopt));
  EXPECT_TRUE(co_await far.wait_attached());
  while (messages.size() < 4) messages.push_back(*co_await far.receive());
  EXPECT_FALSE(near.has_arrived(near.handed_over()));
  far.send(Heartbeat{2});  // also acknowledges
  const std::optional<Message> sign = co_await near.receive();
  EXPECT_TRUE(std::holds_alternative<Heartbeat>(*sign));
  EXPECT_TRUE(near.has_arrived(near.handed_over()));
  near.close();
  far.close();
}

TEST(Connection, GoesOnOverAnotherStreamWithoutLosingOrRepeatingAnything) {
  Ends ends;
  const auto far = ends.far_connection();
  ends.near->keep_sent();
  far->keep_sent();
  for (std::uint32_t rank = 1; rank <= 3; ++rank) ends.near->send(Started{rank, rank * 10});
  std::vector<Message> messages;
  TaskGroup group(ends.context);
  group.spawn(ends.near->run_writer());
  group.spawn(far->run_writer());
  group.spawn(resume_after(ends.context, *ends.near, *far, messages, 2));
  run(ends.context, group);
  ASSERT_EQ(messages.size(), 4u);
  const std::uint32_t expected[] = {1, 2, 3, 9};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(std::get<Started>(messages[i]).rank, expected[i]);
}

// Keeps what it sends from Reconnect on; a receipt before that is garbage.
awaitable<void> be_told_to_keep(Connection& far, std::vector<Message>& messages) {
  far.send(Started{1, 10});
  while (messages.size() < 3) {
    messages.push_back(*co_await far.receive());
    if (std::holds_alternative<Reconnect>(messages.back())) far.keep_sent();
  }
  far.close();
}

awaitable<void> tell_to_keep(Connection& near) {
  near.send(Started{7, 70});
  co_await near.receive();  // there is something to acknowledge
  near.keep_sent();
  near.send(Reconnect{"00112233aabbccdd", std::string(32, 't'), 0});
  near.send(Heartbeat{1});  // before anything could be written
  co_await near.receive();
  near.close();
}

TEST(Connection, LetsNoReceiptOvertakeTheOrderToKeepWhatIsSent) {
  Ends ends;
  const auto far = ends.far_connection();
  std::vector<Message> messages;
  TaskGroup group(ends.context);
  group.spawn(ends.near->run_writer());
  group.spawn(far->run_writer());
  group.spawn(tell_to_keep(*ends.near));
  group.spawn(be_told_to_keep(*far, messages));
  run(ends.context, group);
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<Reconnect>(messages[1]));
  EXPECT_TRUE(std::holds_alternative<Heartbeat>(messages[2]));
}

TEST(Connection, RefusesToGoOnWithWhatIsNotKept) {
  Ends ends;
  ends.near->keep_sent();
  ends.near->detach();
  SocketPair pair = make_socketpair(SOCK_STREAM);
  EXPECT_FALSE(
      ends.near->attach(make_fd_stream(ends.context, std::move(pair.first)), "", 1, std::nullopt));
}

}  // namespace
}  // namespace dtl::connection_test
