// The last line "end" shows that an answer is complete. The end of the stream does not: an agent
// that was killed halfway would look like a host with fewer jobs.
#include "launcher/agents/agent_query.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <exception>
#include <utility>

#include "base/text.h"
#include "launcher/agents/agent_link.h"
#include "wire/answer.h"
#include "wire/deadline.h"
#include "wire/task_group.h"

namespace dtl {
namespace {

// A host that prints without end must not fill the asker's memory.
constexpr std::size_t kMaxAnswerBytes = 16 << 20;

using Take = std::function<bool(std::string_view)>;

awaitable<void> ask_one(asio::io_context& context, Answer* answer, AgentRunner run,
                        std::vector<std::string> arguments, std::chrono::milliseconds patience) {
  const std::string name = answer->host.name;
  try {
    const auto stream = co_await run(context, answer->host, std::move(arguments));
    const StreamDeadline deadline(context, *stream, patience);
    Take take = [answer](std::string_view bytes) {
      answer->text += bytes;
      return answer->text.size() < kMaxAnswerBytes;
    };
    co_await read_answer(*stream, answer->host, std::move(take));
    // A host may send escape sequences, and these texts go to the user's terminal.
    answer->text = printable_lines(answer->text);
    const bool whole = answer->text == "end\n" || answer->text.ends_with("\nend\n");
    if (!whole)
      throw Error(Exit::kOs, "dtagent did not finish its answer", describe_ending(*stream));
  } catch (const Error& error) {
    answer->error = error.attempted().starts_with(name) ? error : error.with_context(name);
  }
}

// The last task closes the descriptor that waits for `give_up`; otherwise the io_context would have
// work left and never return.
awaitable<void> count_down(awaitable<void> task, std::size_t* left,
                           asio::posix::stream_descriptor* waits) {
  co_await std::move(task);
  if (--*left == 0) waits->close();
}

awaitable<void> follow_one(asio::io_context& context, Host host, StartOptions options,
                           std::vector<std::string> arguments, Take take) {
  const auto stream = co_await run_agent(context, host, options, std::move(arguments));
  co_await read_answer(*stream, host, std::move(take));
  stream->close();
}

}  // namespace

awaitable<void> read_answer(AgentStream& stream, Host host, Take take) {
  std::string received;
  bool found = false;
  for (;;) {
    std::string bytes = co_await stream.read();
    // kUnreachable and not kOs: followers of a log take it as a reason to log in again.
    if (bytes.empty() && found && stream.ending() == kConnectionLost) {
      throw Error(Exit::kUnreachable, "connection lost", "it was there a moment ago");
    }
    if (bytes.empty() && found) co_return;
    if (bytes.empty()) {
      if (const auto refusal = refused_agent(host, stream)) throw *refusal;
      throw Error(Exit::kOs, "no answer from dtagent", describe_ending(stream));
    }
    if (!found) {
      received += bytes;
      auto rest = find_answer(received);
      if (!rest) continue;
      found = true;
      bytes = std::move(*rest);
    }
    if (!bytes.empty() && !take(bytes)) co_return;
  }
}

AgentRunner runner_by(const StartOptions& options) {
  return [options](asio::io_context& context, Host host, std::vector<std::string> arguments) {
    return run_agent(context, std::move(host), options, std::move(arguments));
  };
}

std::vector<Answer> ask_agents(const std::vector<Host>& hosts, const AgentRunner& run,
                               const std::vector<std::string>& arguments,
                               std::chrono::milliseconds patience, int give_up) {
  std::vector<Answer> answers(hosts.size());
  asio::io_context context;
  asio::posix::stream_descriptor waits(context);
  std::size_t left = hosts.size();
  if (give_up >= 0) {
    // A copy: the stream_descriptor closes what it has, and give_up belongs to the caller.
    waits.assign(::fcntl(give_up, F_DUPFD_CLOEXEC, 0));
    waits.async_wait(asio::posix::descriptor_base::wait_read,
                     [&context](const boost::system::error_code& cancelled) {
                       if (!cancelled) context.stop();
                     });
  }
  run_tasks(context, [&](TaskGroup& tasks) {
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      answers[i].host = hosts[i];
      tasks.spawn(
          count_down(ask_one(context, &answers[i], run, arguments, patience), &left, &waits));
    }
  });
  return answers;
}

void follow_answer(const Host& host, const StartOptions& options,
                   const std::vector<std::string>& arguments, Take take) {
  asio::io_context context;
  run_tasks(context, [&](TaskGroup& tasks) {
    tasks.spawn(follow_one(context, host, options, arguments, std::move(take)));
  });
}

}  // namespace dtl
