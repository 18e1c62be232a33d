// Threads only examine and post results: only the io_context's thread uses the connection. A member
// thread is joined before the members that it posts to are destroyed.
#include "agent/job/node_questions.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "agent/cloud/notice_watch.h"
#include "agent/node/examine.h"
#include "agent/node/find_files.h"
#include "agent/node/run_program.h"
#include "base/limits.h"
#include "base/machine/job_record.h"
#include "base/text.h"
#include "plan/container.h"

namespace dtl {

NodeQuestions::NodeQuestions(asio::io_context& context, TaskGroup& tasks, Connection& connection,
                             NodeContainer& container, std::string own_folder, std::string job_id,
                             std::vector<std::string> addresses)
    : context_(context),
      tasks_(tasks),
      connection_(connection),
      container_(container),
      own_folder_(std::move(own_folder)),
      job_id_(std::move(job_id)),
      listener_(context, job_id_, std::move(addresses)) {}

// Cleans up after launchers and agents that were killed on this node. Runs a separate process with
// a time limit, and only if there is a record of a dead job.
void NodeQuestions::sweep() {
  if (dead_jobs(records_here()).empty()) return;
  sweeper_ = std::jthread([this] {
    // The time limit is the one of a sweep.
    constexpr std::size_t kMostBytes = 64 << 10;
    const ProgramOutput swept = run_program({own_folder_ + "/dtagent", "--sweep"},
                                            kKillGrace + kReapDeadline + kAnswerMargin, kMostBytes);
    for (const std::string& line : split(swept.text, '\n')) {
      // The other lines are for programs.
      const bool says = line.starts_with("ended ") || line.starts_with("cannot ");
      if (!says) continue;
      asio::post(context_, [this, line = printable(line)] { connection_.send(Notice{line}); });
    }
  });
}

void NodeQuestions::listen(const Listen& how) {
  connection_.send(listener_.open(tasks_, how));
}

void NodeQuestions::reach(const Reach& wanted) {
  tasks_.spawn(tell_reached(wanted));
}

awaitable<void> NodeQuestions::tell_reached(Reach wanted) {
  const Reached reached = co_await reach_all(context_, std::move(wanted), job_id_);
  connection_.send(reached);
}

// The clock is answered at once, as a delayed time is wrong, and libraries too, as their answer
// must precede those to later messages. A container takes longer, and its launcher waits for it.
// Other questions run on a thread, one at a time.
void NodeQuestions::examine(const Examine& question) {
  const auto& parameters = question.parameters;
  const auto asks_for = [&](std::string_view what) {
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](const Fact& fact) { return fact.name == "what" && fact.value == what; });
  };
  if (asks_for("clock")) return connection_.send(Examined{examine_clock()});
  if (asks_for("libraries")) {
    LibrariesFound found = find_libraries(question, own_folder_);
    pmix_libraries_ = std::move(found.pmix_libraries);
    open_mpi_prefix_ = std::move(found.open_mpi_prefix);
    needs_pmix_ = found.needs_pmix;
    if (!NodeContainer::is_wanted(question)) return connection_.send(std::move(found.answer));
    return container_.prepare(question, job_id_, [this, found](std::string answer) mutable {
      found.answer.facts.push_back({std::string(kContainerFact), std::move(answer)});
      connection_.send(std::move(found.answer));
    });
  }
  examiner_ = std::jthread([this, parameters] {
    Examined examined{examine_node(parameters)};
    asio::post(context_, [this, examined = std::move(examined)] { connection_.send(examined); });
  });
}

void NodeQuestions::watch_for_notices(Cloud cloud) {
  // A second order changes nothing (wire/PROTOCOL.md).
  if (std::exchange(watches_cloud_, true)) return;
  NoticeListeners listeners;
  listeners.leaving = [this](const CloudNotice& notice) {
    connection_.send(Leaving{notice.told_by, static_cast<std::uint32_t>(notice.left.count())});
  };
  listeners.say = [this](const std::string& text) { connection_.send(Notice{text}); };
  tasks_.spawn(watch_notices(context_, cloud, metadata_service(), std::move(listeners)));
}

}  // namespace dtl
