#pragma once
// Libraries that are loaded into ranks before all others: those of --preload, and those that
// LD_PRELOAD already names. Where they lie differs from node to node, so the nodes are asked before
// the plan is made, together with the connection test: it costs no further round trip. A path that
// is right on the login host only would make ld.so complain in every process elsewhere. Pure.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plan/job_plan.h"
#include "plan/request/request.h"

namespace dtl {

// "tcmalloc,iomp" -> those two. Throws Error(kUsage) with the nearest name for any other.
std::vector<Preload> parse_preloads(std::string_view text);

// What every node of the job must be asked. Empty: nothing, and no node is asked.
struct LibraryQuestion {
  std::vector<std::string> files;      // absolute paths: are they there?
  std::vector<std::string> libraries;  // "libjemalloc.so": where is it, or a version of it?
  std::vector<std::string> folders;    // to look into before the system's own

  bool empty() const { return files.empty() && libraries.empty(); }
};

LibraryQuestion libraries_to_find(const Request& request);

// A node's answer: where each file and library lies; empty for nowhere.
using LibraryPlaces = std::map<std::string, std::string>;

// Sets LD_PRELOAD and what belongs to it for each rank; `places` is by NodePlan::host. A file of
// LD_PRELOAD that a node lacks is left out there with a warning; a library of --preload that a node
// lacks is an Error(kConfig).
void add_preloads(JobPlan& plan, const Request& request,
                  const std::map<int, LibraryPlaces>& places);

}  // namespace dtl
