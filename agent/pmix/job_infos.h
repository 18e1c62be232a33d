#pragma once
// What libpmix is told about a job: sizes, programs, nodes, and where each rank is.

#include <string>

#include "agent/pmix/infos.h"
#include "agent/pmix/node_places.h"

namespace dtl::pmix {

// node_map and rank_map: as PMIx_generate_regex and PMIx_generate_ppn make them. folder: for the
// session's files of the ranks.
void describe_job(const NodePlaces& places, const std::string& node_map,
                  const std::string& rank_map, const std::string& folder, Infos& infos);

}  // namespace dtl::pmix
