// The format of PMI_process_mapping is the one of MPICH's design document on PMI.
#include "plan/mpi.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/text.h"
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
  return found.kind == "mpich" || found.kind == "intel" || found.kind == "open_mpi";
}

Error not_served(const Found& found) {
  return Error(Exit::kConfig, fmt::format("{}: cannot start '{}'", found.host, found.program),
               fmt::format("it needs {}, which dtlaunch does not serve", found.name),
               "its own mpirun, or build it with the mpicc of MPICH, Intel MPI or Open MPI");
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

// What the nodes have said about the programs.
struct Programs {
  std::optional<Found> known;   // the first one whose MPI is known
  std::optional<Found> hidden;  // the first one that may load Open MPI
};

Programs look_at(const std::vector<MpiQuestion>& questions,
                 const std::vector<MpiAnswers>& answers) {
  Programs programs;
  for (const MpiAnswers& of_node : answers) {
    for (std::size_t i = 0; i < questions.size() && i < of_node.programs.size(); ++i) {
      const auto found = found_in(of_node.host, questions[i].program, of_node.programs[i]);
      if (!found) continue;
      if (found->kind == "hidden") {
        if (!programs.hidden) programs.hidden = found;
        continue;
      }
      if (!is_served(*found)) throw not_served(*found);
      if (!programs.known) programs.known = found;
      if (!are_one(*programs.known, *found)) throw mixed(*programs.known, *found);
    }
  }
  return programs;
}

bool serves_pmix(const MpiAnswers& of_node) {
  return !of_node.pmix.empty() && of_node.pmix[0] >= '0' && of_node.pmix[0] <= '9';
}

// The packages' names are Debian's.
std::string fix_for_pmix(const std::string& reason) {
  if (reason.starts_with("there is no folder")) return "export XDG_STATE_HOME=FOLDER, there";
  const bool only_library = reason.find("libpmix") != reason.npos;
  return only_library ? "apt install libpmix2, there" : "apt install dtlaunch libpmix2, there";
}

// Of a program that would be rank 0 of 1; empty: none is known to. MPICH can be built for PMIx.
std::string warn_of_pmix(const std::vector<MpiQuestion>& questions,
                         const std::vector<MpiAnswers>& answers) {
  for (const MpiAnswers& of_node : answers) {
    for (std::size_t i = 0; i < questions.size() && i < of_node.programs.size(); ++i) {
      const auto found = found_in(of_node.host, questions[i].program, of_node.programs[i]);
      if (!found || (found->kind != "mpich" && found->kind != "intel")) continue;
      return fmt::format(
          "--pmi pmix: '{}' uses {}, whose ranks find each other only if it was "
          "built for PMIx. Try: --pmi auto",
          found->program, found->name);
    }
  }
  return {};
}

// The user has asked for PMIx, whatever the programs need.
MpiVerdict judge_wish_for_pmix(const std::vector<MpiQuestion>& questions,
                               const std::vector<MpiAnswers>& answers) {
  std::vector<std::string> versions;
  for (const MpiAnswers& of_node : answers) {
    if (!serves_pmix(of_node)) {
      throw Error(Exit::kConfig,
                  fmt::format("{}: cannot serve PMIx, as --pmi pmix asks", of_node.host),
                  of_node.pmix.empty() ? "its agent does not say why" : of_node.pmix,
                  fix_for_pmix(of_node.pmix));
    }
    const bool is_new = std::find(versions.begin(), versions.end(), of_node.pmix) == versions.end();
    if (is_new) versions.push_back(of_node.pmix);
  }
  return {.detail = fmt::format("PMIx is offered, by libpmix {}", join(versions, " and ")),
          .warning = warn_of_pmix(questions, answers),
          .pmix = true};
}

// A node without an answer has no program of Open MPI. Its ranks show what is wrong there.
MpiVerdict judge_open_mpi(const Found& found, const std::vector<MpiAnswers>& answers) {
  for (const MpiAnswers& of_node : answers) {
    if (of_node.pmix.empty() || serves_pmix(of_node)) continue;
    throw Error(
        Exit::kConfig, fmt::format("{}: cannot start '{}'", of_node.host, found.program),
        fmt::format("it needs {}, and this host cannot serve PMIx: {}", found.name, of_node.pmix),
        fix_for_pmix(of_node.pmix));
  }
  return {.line = fmt::format("'{}' uses {}, started over PMIx", found.program, found.name),
          .pmix = true};
}

// Most programs of this kind never load Open MPI, so nothing is refused.
MpiVerdict judge_hidden(const Found& found, const std::vector<MpiAnswers>& answers) {
  const auto unable = std::find_if(answers.begin(), answers.end(),
                                   [](const MpiAnswers& each) { return !serves_pmix(each); });
  if (unable == answers.end()) {
    return {.detail = fmt::format("'{}' may load Open MPI: PMIx is offered, too", found.program),
            .pmix = true};
  }
  return {.detail = fmt::format(
              "'{}' cannot use Open MPI: {} {}", found.program, unable->host,
              unable->pmix.empty() ? "shows none" : "cannot serve PMIx: " + unable->pmix)};
}

}  // namespace

std::vector<MpiQuestion> mpi_questions(const Request& request) {
  std::vector<MpiQuestion> questions;
  const PmiChoice choice = request.environment.pmi;
  if (choice != PmiChoice::kAuto && choice != PmiChoice::kPmix) return questions;
  for (const Program& program : request.programs) {
    if (program.command.empty()) continue;
    questions.push_back({program.command[0], given_variable(request, program, "PATH"),
                         given_variable(request, program, "LD_LIBRARY_PATH"),
                         program.working_directory});
  }
  return questions;
}

std::string_view pmix_question(const Request& request) {
  if (request.environment.pmi == PmiChoice::kPmix) return "always";
  return mpi_questions(request).empty() ? "" : "if_needed";
}

MpiVerdict judge_mpi(PmiChoice choice, const std::vector<MpiQuestion>& questions,
                     const std::vector<MpiAnswers>& answers) {
  if (choice == PmiChoice::kPmix) return judge_wish_for_pmix(questions, answers);
  const auto [known, hidden] = look_at(questions, answers);
  if (known && known->kind == "open_mpi") return judge_open_mpi(*known, answers);
  if (known) {
    return {.line = fmt::format("'{}' uses {}, started over PMI-1", known->program, known->name)};
  }
  if (hidden) return judge_hidden(*hidden, answers);
  return {};
}

void check_pmix_variables(const Request& request) {
  const auto check = [](const Variables& set) {
    for (const auto& [name, value] : set) {
      if (!name.starts_with("PMIX_") || name.starts_with("PMIX_MCA_")) continue;
      throw option_error(fmt::format("{}={}", name, value),
                         "the job's PMIx server gives it to each rank, for Open MPI",
                         fmt::format("the same command without {}, or --pmi none", name));
    }
  };
  check(request.environment.set);
  for (const Program& program : request.programs) check(program.set);
}

PmiChoice parse_pmi(std::string_view text) {
  if (text == "auto") return PmiChoice::kAuto;
  // A library says in its first line which of the two it speaks.
  if (text == "pmi1" || text == "pmi2") return PmiChoice::kPmi1;
  if (text == "pmix") return PmiChoice::kPmix;
  if (text == "none") return PmiChoice::kNone;
  throw option_error(fmt::format("--pmi {}", text), "not an interface of MPI libraries",
                     "--pmi auto, pmi1, pmi2, pmix or none");
}

bool offers_pmi1(PmiChoice choice) {
  return choice == PmiChoice::kAuto || choice == PmiChoice::kPmi1;
}

std::vector<std::string> distinct_names(std::vector<std::string> names) {
  std::set<std::string> taken(names.begin(), names.end());
  std::map<std::string, int> count;
  for (std::string& name : names) {
    int& number = count[name];
    if (++number == 1) continue;
    std::string other = fmt::format("{}-{}", name, number);
    while (!taken.insert(other).second) other = fmt::format("{}-{}", name, ++number);
    name = std::move(other);
  }
  return names;
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
