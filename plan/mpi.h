#pragma once
// How the ranks of an MPI library find each other: which process manager interface (PMI) they are
// offered, and what it says about their places. wire/PROTOCOL.md says how agents serve it. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "plan/placement.h"
#include "plan/request/request.h"

namespace dtl {

// "auto", "pmi1", "pmi2" or "none". Throws Error(kUsage) for other words; for interfaces that dtlaunch does
// not serve, it says so.
PmiChoice parse_pmi(std::string_view text);

// What the nodes are asked about a program before it starts: which MPI does it need? They look for
// it as a rank does.
struct MpiQuestion {
  std::string program, search_path, library_path, folder;
};
// One for each program, in order; none if --pmi says what to serve.
std::vector<MpiQuestion> mpi_questions(const Request& request);

// A node's answers, in the order of the questions: "" for a program without MPI, or one that does
// not show it; "mpich MPICH (libmpich.so.12)": a kind, and a name for people. Kinds are mpich,
// intel, open_mpi and other.
struct MpiAnswers {
  std::string host;
  std::vector<std::string> programs;
};
// Says which MPI the job uses, for the user; empty if it is not known to use any. Throws
// Error(kConfig) if dtlaunch does not serve it, or if there are several.
std::string judge_mpi(const std::vector<MpiQuestion>& questions,
                      const std::vector<MpiAnswers>& answers);

// The machine of each rank, as PMI's key PMI_process_mapping has it: "(vector,(0,2,4),(2,1,3))"
// means that from machine 0 on 2 machines have 4 ranks each, and then machine 2 has 3. places: in
// order of rank. Empty if the text is longer than a value of PMI may be; libraries then compare
// hostnames.
std::string process_mapping(const std::vector<RankPlace>& places);

}  // namespace dtl
