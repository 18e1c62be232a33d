// The format of PMI_process_mapping is the one of MPICH's design document on PMI.
#include "plan/mpi.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "plan/environment.h"

namespace dtl {
namespace {

constexpr std::size_t kMaxMappingBytes = 4095;  // vallen_max of PMI, without its NUL

// `nodes` machines from `node` on have `ranks` consecutive ranks each.
struct Block {
  int node = 0, nodes = 1, ranks = 0;
};

// One program's MPI on one host.
struct Found {
  std::string host, program, kind, name;
};

std::optional<Found> found_in(const std::string& host, const std::string& program,
                              const std::string& answer) {
  const std::size_t blank = answer.find(' ');
  if (answer.empty() || blank == answer.npos) return std::nullopt;
  return Found{host, program, answer.substr(0, blank), answer.substr(blank + 1)};
}

bool is_served(const Found& found) {
  return found.kind == "mpich" || found.kind == "intel";
}

Error not_served(const Found& found) {
  return Error(Exit::kConfig, fmt::format("{}: cannot start '{}'", found.host, found.program),
               fmt::format("it needs {}, which dtlaunch does not serve", found.name),
               "its own mpirun, or build it with the mpicc of MPICH or Intel MPI");
}

// MPICH's own libmpich.so.12 and the libmpi.so.12 of newer and of other builds come from different
// releases.
bool are_one(const Found& one, const Found& other) {
  const auto is_libmpich = [](const Found& found) {
    return found.name.find("(libmpich") != found.name.npos;
  };
  return one.kind == other.kind && is_libmpich(one) == is_libmpich(other);
}

// Different MPIs do not understand each other.
Error mixed(const Found& one, const Found& other) {
  return Error(Exit::kConfig, "cannot start one job with different MPIs, or builds of one",
               fmt::format("'{}' on {} needs {}, '{}' on {} needs {}", one.program, one.host,
                           one.name, other.program, other.host, other.name),
               "the same mpicc for all programs, and the same libraries on all hosts");
}

}  // namespace

std::vector<MpiQuestion> mpi_questions(const Request& request) {
  std::vector<MpiQuestion> questions;
  if (request.environment.pmi != PmiChoice::kAuto) return questions;
  for (const Program& program : request.programs) {
    if (program.command.empty()) continue;
    questions.push_back({program.command[0], given_variable(request, program, "PATH"),
                         given_variable(request, program, "LD_LIBRARY_PATH"),
                         program.working_directory});
  }
  return questions;
}

std::string judge_mpi(const std::vector<MpiQuestion>& questions,
                      const std::vector<MpiAnswers>& answers) {
  std::optional<Found> first;
  for (const MpiAnswers& of_node : answers) {
    for (std::size_t i = 0; i < questions.size() && i < of_node.programs.size(); ++i) {
      const auto found = found_in(of_node.host, questions[i].program, of_node.programs[i]);
      if (!found) continue;
      if (!is_served(*found)) throw not_served(*found);
      if (!first) first = found;
      if (!are_one(*first, *found)) throw mixed(*first, *found);
    }
  }
  if (!first) return {};
  return fmt::format("'{}' uses {}, started over PMI-1", first->program, first->name);
}

PmiChoice parse_pmi(std::string_view text) {
  if (text == "auto") return PmiChoice::kAuto;
  // A library says in its first line which of the two it speaks.
  if (text == "pmi1" || text == "pmi2") return PmiChoice::kPmi1;
  if (text == "none") return PmiChoice::kNone;
  const std::string typed = fmt::format("--pmi {}", text);
  if (text == "pmix") {
    throw option_error(typed, "Open MPI uses PMIx, and dtlaunch serves PMI-1 and PMI-2",
                       "Open MPI's own mpirun; or --pmi auto, for MPICH and Intel MPI");
  }
  throw option_error(typed, "not an interface of MPI libraries", "--pmi auto, pmi1 or none");
}

std::string process_mapping(const std::vector<RankPlace>& places) {
  std::vector<Block> runs;
  for (const RankPlace& place : places) {
    if (runs.empty() || runs.back().node != place.node) runs.push_back({place.node, 1, 0});
    ++runs.back().ranks;
  }
  std::vector<Block> blocks;
  for (const Block& run : runs) {
    const bool continues = !blocks.empty() && blocks.back().ranks == run.ranks &&
                           blocks.back().node + blocks.back().nodes == run.node;
    if (continues) {
      ++blocks.back().nodes;
    } else {
      blocks.push_back(run);
    }
  }
  std::string text = "(vector";
  for (const Block& block : blocks) {
    text += fmt::format(",({},{},{})", block.node, block.nodes, block.ranks);
    if (text.size() > kMaxMappingBytes) return {};
  }
  return text + ")";
}

}  // namespace dtl
