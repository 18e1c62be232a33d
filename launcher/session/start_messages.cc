// Copies the plan's types field by field to the wire's types, which are unsigned.
#include "launcher/session/start_messages.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/limits.h"
#include "plan/mpi.h"
#include "plan/wanted_cores.h"
#include "wire/environments.h"
#include "wire/field_kinds.h"
#include "wire/frame.h"

namespace dtl {
namespace {

RankSpec to_spec(const RankPlan& rank, Environment environment) {
  RankSpec spec;
  spec.rank = static_cast<std::uint32_t>(rank.rank);
  spec.local_rank = static_cast<std::uint32_t>(rank.local_rank);
  spec.arguments = rank.arguments;
  spec.environment = std::move(environment);
  spec.umask = rank.umask;
  for (const int cpu : rank.cpus.to_vector()) spec.cpus.push_back(static_cast<std::uint32_t>(cpu));
  spec.memory_policy = rank.memory;
  for (const int node : rank.memory_nodes) {
    spec.memory_nodes.push_back(static_cast<std::uint32_t>(node));
  }
  return spec;
}

// Bytes that a rank's environment takes beyond its own lines. split_start() checks the total
// against execve's limits.
std::size_t shared_bytes_of(const RankPlan& rank, const Environment& own) {
  std::size_t bytes = 0;
  for (const std::string& line : rank.environment) bytes += line.size();
  for (const AddedVariable& added : own.added) bytes -= added.variable.size();
  return bytes;
}

}  // namespace

// `more` is last, so other answers keep their index.
std::optional<Examine> question_message(const LibraryQuestion& question,
                                        const std::vector<Fact>& more) {
  if (question.empty() && more.empty()) return std::nullopt;
  Examine message;
  message.parameters.push_back({"what", "libraries"});
  for (const auto& each : question.folders) message.parameters.push_back({"folder", each});
  for (const auto& each : question.files) message.parameters.push_back({"file", each});
  for (const auto& each : question.libraries) message.parameters.push_back({"library", each});
  message.parameters.insert(message.parameters.end(), more.begin(), more.end());
  return message;
}

// A later fact of the same name replaces an earlier one. A search path that the wire cannot carry
// is asked about as if it were empty.
std::vector<Fact> mpi_question(const Request& request) {
  std::vector<Fact> parameters;
  std::vector<MpiQuestion> questions = mpi_questions(request);
  for (MpiQuestion& each : questions) {
    for (std::string* text : {&each.search_path, &each.library_path, &each.folder, &each.program}) {
      if (text->size() > kMaxTextBytes) text->clear();
    }
    parameters.push_back({"PATH", each.search_path});
    parameters.push_back({"LD_LIBRARY_PATH", each.library_path});
    parameters.push_back({"cwd", each.folder});
    parameters.push_back({"mpi", each.program});
  }
  const std::string_view pmix = pmix_question(request);
  if (!pmix.empty()) parameters.push_back({"pmix", std::string(pmix)});
  return parameters;
}

std::vector<Fact> container_question(const Request& request, const std::string& image,
                                     bool starts) {
  std::vector<Fact> facts = {{std::string(kContainerFact), image}};
  for (const std::string& folder : container_folders(request)) {
    facts.push_back({std::string(kContainerFolder), folder});
  }
  if (starts) facts.push_back({std::string(kContainerStart), "yes"});
  return facts;
}

ContainerAnswer container_answer(const Host& host, const std::optional<Examined>& answer) {
  ContainerAnswer of_host{host, false, {}};
  if (!answer) return of_host;
  for (const Fact& fact : answer->facts) {
    if (fact.name != kContainerFact) continue;
    of_host.told = true;
    of_host.text = fact.value;
  }
  return of_host;
}

std::vector<Message> start_messages(
    const NodePlan& node, const std::string& secret,
    const std::function<bool(int rank)>& wants_stdin,
    const std::function<std::string(const std::string&)>& folder_there) {
  std::vector<RankVariables> variables;
  for (const RankPlan& rank : node.ranks) variables.push_back({rank.environment, rank.program});
  SharedEnvironments shared = share_environments(variables);
  Start start;
  start.secret = secret;
  std::vector<std::size_t> shared_bytes;
  for (std::size_t i = 0; i < node.ranks.size(); ++i) {
    shared_bytes.push_back(shared_bytes_of(node.ranks[i], shared.own[i]));
    start.ranks.push_back(to_spec(node.ranks[i], std::move(shared.own[i])));
    start.ranks.back().wants_stdin = wants_stdin(node.ranks[i].rank);
    start.ranks.back().working_directory = folder_there(node.ranks[i].working_directory);
  }
  std::vector<Message> messages;
  // Start messages refer to the shared environments, so these come first.
  for (Environment& environment : shared.common) messages.emplace_back(std::move(environment));
  for (Start& part : split_start(std::move(start), shared_bytes)) {
    messages.emplace_back(std::move(part));
  }
  return messages;
}

std::vector<PmiRank> pmi_ranks(const NodePlan& node) {
  std::vector<PmiRank> ranks;
  for (const RankPlan& rank : node.ranks) {
    ranks.push_back(
        {static_cast<std::uint32_t>(rank.rank), static_cast<std::uint32_t>(rank.program)});
  }
  return ranks;
}

std::vector<TakeTicket> tickets_for(const Request& request, const std::vector<NodeFacts>& facts) {
  std::vector<TakeTicket> tickets;
  for (TicketWish& wanted : wanted_cores(request, facts)) {
    tickets.push_back({0, static_cast<std::uint32_t>(wanted.cores), std::move(wanted.cpus),
                       longest_run(request.ending), request.around});
  }
  return tickets;
}

std::uint64_t longest_run(const Ending& ending) {
  if (!ending.timeout) return 0;
  const JobTime all = *ending.timeout + ending.grace.value_or(kKillGrace) + JobTime(kReapDeadline);
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(all).count());
}

LibraryPlaces to_places(const Examined& answer, const Examine& question) {
  LibraryPlaces places;
  std::size_t next = 0;
  for (const Fact& asked : question.parameters) {
    if (asked.name != "file" && asked.name != "library") continue;
    if (next < answer.facts.size()) places[asked.value] = answer.facts[next++].value;
  }
  return places;
}

}  // namespace dtl
