#pragma once
// The messages that start a node's ranks: its part of the plan. Variables that its ranks share are
// sent once, since with many ranks they are most of the bytes. And those that come before them.
// Pure.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/container.h"
#include "plan/job_plan.h"
#include "plan/preload.h"
#include "plan/request/request.h"
#include "wire/messages.h"

namespace dtl {

// In the order in which they must be sent: a Start refers to the environments before it. Throws
// Error(kUsage) if a rank's arguments and environment are too long. folder_there: where a folder of
// the plan is on this node.
std::vector<Message> start_messages(
    const NodePlan& node, const std::string& secret,
    const std::function<bool(int rank)>& wants_stdin,
    const std::function<std::string(const std::string&)>& folder_there);

// What nodes are asked before the plan: where libraries are, and `more`, which comes last. nullopt:
// nothing.
std::optional<Examine> question_message(const LibraryQuestion& question,
                                        const std::vector<Fact>& more);
std::vector<Fact> mpi_question(const Request& request);
// starts: the container too, not only whether its image is there. Throws Error(kUsage).
std::vector<Fact> container_question(const Request& request, const std::string& image, bool starts);
ContainerAnswer container_answer(const Host& host, const std::optional<Examined>& answer);

// Of a node, for ServePmi.
std::vector<PmiRank> pmi_ranks(const NodePlan& node);

// To wait in line on each host of the request, without the arrival. Throws Error if the job could
// not start anyway.
std::vector<TakeTicket> tickets_for(const Request& request, const std::vector<NodeFacts>& facts);

// How long a job has its cores at most, in seconds; 0: it has no limit.
std::uint64_t longest_run(const Ending& ending);

// Answers are in the order of the question, files and libraries alike. A short answer leaves the
// rest out; a library without an answer was not found.
LibraryPlaces to_places(const Examined& answer, const Examine& question);

}  // namespace dtl
