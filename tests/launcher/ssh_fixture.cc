#include "tests/launcher/ssh_fixture.h"

#include <csignal>
#include <exception>

namespace dtl::testing {

void SshTest::SetUp() {
  if (!cluster_.available()) GTEST_SKIP() << cluster_.reason();
  std::signal(SIGPIPE, SIG_IGN);
  make_agent("exec cat");
}

void SshTest::make_agent(const std::string& script) {
  must("node2", std::string("printf '#!/bin/sh\\nprintf \"\\\\n%s\\\\n\"\\n' '") +
                    std::string(kMarker, std::string_view(kMarker).size() - 1) +
                    "' >/run/agent; echo '" + script + "' >>/run/agent; chmod +x /run/agent");
}

void SshTest::must(const std::string& host, const std::string& command) {
  const CommandResult result = cluster_.on(host, command);
  ASSERT_EQ(result.status, 0) << command << ": " << result.output;
}

void SshTest::run(asio::awaitable<void> task) {
  std::exception_ptr failure;
  asio::co_spawn(context_, std::move(task), [&](std::exception_ptr error) { failure = error; });
  context_.restart();
  context_.run();
  if (failure) std::rethrow_exception(failure);
}

awaitable<std::unique_ptr<AgentStream>> SshTest::start() {
  auto stream = co_await start_ssh_agent(context_, node2_, options_);
  greeting_ = co_await stream->read();
  co_return stream;
}

Error SshTest::failure() {
  try {
    run([](SshTest& test) -> awaitable<void> { co_await test.start(); }(*this));
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "the agent started";
  return Error(Exit::kOk, "", "");
}

awaitable<std::string> read_bytes(AgentStream& stream, std::size_t size) {
  std::string all;
  while (all.size() < size) {
    const std::string bytes = co_await stream.read();
    if (bytes.empty()) break;
    all += bytes;
  }
  co_return all;
}

}  // namespace dtl::testing
