#pragma once
// How the ranks of an MPI library find each other: which process manager interface (PMI) they are
// offered, and what it says about their places. wire/PROTOCOL.md says how agents serve it. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "plan/placement.h"
#include "plan/request/request.h"

namespace dtl {

// "auto", "pmi1", "pmi2", "pmix" or "none". Throws Error(kUsage) for other words.
PmiChoice parse_pmi(std::string_view text);
// Whether ranks find a server of PMI-1, which also knows PMI-2.
bool offers_pmi1(PmiChoice choice);

// What the nodes are asked about a program before it starts: which MPI does it need? They look for
// it as a rank does.
struct MpiQuestion {
  std::string program, search_path, library_path, folder;
};
// One for each program, in order; none if --pmi says what to serve.
std::vector<MpiQuestion> mpi_questions(const Request& request);
// After these, nodes are asked whether they can serve PMIx: "always", or "if_needed" by one of the
// programs. Empty: they are not asked.
std::string_view pmix_question(const Request& request);

// A node's answers, in the order of the questions: "" for a program without MPI, or one that does
// not show it; "mpich MPICH (libmpich.so.12)": a kind, and a name for people. Kinds are mpich,
// intel, open_mpi, other, and hidden for a program that may load Open MPI later.
struct MpiAnswers {
  std::string host;
  std::vector<std::string> programs;
  std::string pmix = {};  // libpmix's version; or why not; empty: no program there needs PMIx
};

struct MpiVerdict {
  std::string line = {};     // which MPI the job uses, for -v and --dry-run; empty: none is known
  std::string detail = {};   // what else is offered, or why not, for -v; may be empty
  std::string warning = {};  // always shown; may be empty
  bool pmix = false;         // ranks find a PMIx server on every node
};
// Throws Error(kConfig) if dtlaunch does not serve the job's MPI, if there are several, or if a
// node cannot serve PMIx and the job needs it.
MpiVerdict judge_mpi(PmiChoice choice, const std::vector<MpiQuestion>& questions,
                     const std::vector<MpiAnswers>& answers);

// Call it where the job is served PMIx. Throws Error(kUsage) if -genv or -env sets a variable that
// the server gives to each rank: PMIX_*, without the library's parameters PMIX_MCA_*.
void check_pmix_variables(const Request& request);

// The same names, with a number after each that has come before: libpmix tells nodes apart by name.
std::vector<std::string> distinct_names(std::vector<std::string> names);

// The machine of each rank, as PMI's key PMI_process_mapping has it: "(vector,(0,2,4),(2,1,3))"
// means that from machine 0 on 2 machines have 4 ranks each, and then machine 2 has 3. places: in
// order of rank. Empty if the text is longer than a value of PMI may be; libraries then compare
// hostnames.
std::string process_mapping(const std::vector<RankPlace>& places);

}  // namespace dtl
