#pragma once
// Libraries that are loaded into ranks before all others: those of --preload, and those already in
// LD_PRELOAD. Their places differ between nodes, so the nodes are asked before the plan is made,
// along with the connection test, without another round trip. A path that only exists on the login
// host would make ld.so complain in every process elsewhere. Pure.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plan/job_plan.h"
#include "plan/request/request.h"

namespace dtl {

// "tcmalloc,iomp" -> those two. Throws Error(kUsage) with the nearest name for any other.
std::vector<Preload> parse_preloads(std::string_view text);

// The question for every node of the job. If empty, no node is asked.
struct LibraryQuestion {
  std::vector<std::string> files;      // absolute paths: do they exist?
  std::vector<std::string> libraries;  // "libjemalloc.so": where is it, or a version of it?
  std::vector<std::string> folders;    // to search before the system's own

  bool empty() const { return files.empty() && libraries.empty(); }
};

LibraryQuestion libraries_to_find(const Request& request);

// A node's answer: the path of each file and library; empty: not found.
using LibraryPlaces = std::map<std::string, std::string>;

// Sets LD_PRELOAD and related variables for each rank; `places` is by NodePlan::host. If a node
// lacks a file of LD_PRELOAD, its ranks do not get that entry, with a warning; if it lacks a
// library of --preload, throws Error(kConfig).
void add_preloads(JobPlan& plan, const Request& request,
                  const std::map<int, LibraryPlaces>& places);

}  // namespace dtl
