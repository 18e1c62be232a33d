#include "agent/pmix/job_infos.h"

namespace dtl::pmix {
namespace {

void describe_program(const NodePlaces& places, std::uint32_t program, Infos& infos) {
  const std::vector<std::uint32_t>& ranks = places.programs[program];
  infos.add_u32(PMIX_APPNUM, program);
  infos.add_u32(PMIX_APP_SIZE, ranks.size());
  if (!ranks.empty()) infos.add_rank(PMIX_APPLDR, ranks.front());
}

void describe_rank(const NodePlaces& places, std::uint32_t rank, const std::string& folder,
                   Infos& infos) {
  const RankPlace& place = places.ranks[rank];
  infos.add_rank(PMIX_RANK, rank);  // first, as libpmix wants it
  infos.add_u16(PMIX_LOCAL_RANK, place.on_node);
  infos.add_u16(PMIX_NODE_RANK, place.on_node);
  infos.add_u32(PMIX_NODEID, place.node);
  infos.add_text(PMIX_HOSTNAME, places.hosts[place.node]);
  infos.add_u32(PMIX_APPNUM, place.program);
  infos.add_rank(PMIX_APP_RANK, place.in_program);
  infos.add_rank(PMIX_GLOBAL_RANK, rank);
  if (places.is_here(rank)) {
    infos.add_text(PMIX_PROCDIR, folder + "/job/" + std::to_string(rank));
  }
}

}  // namespace

void describe_job(const NodePlaces& places, const std::string& node_map,
                  const std::string& rank_map, const std::string& folder, Infos& infos) {
  const std::size_t size = places.ranks.size();
  infos.add_text(PMIX_JOBID, places.space);
  infos.add_u32(PMIX_UNIV_SIZE, size);
  infos.add_u32(PMIX_JOB_SIZE, size);
  infos.add_u32(PMIX_MAX_PROCS, size);
  infos.add_u32(PMIX_JOB_NUM_APPS, places.programs.size());
  infos.add_u32(PMIX_NUM_NODES, places.hosts.size());
  infos.add_regex(PMIX_NODE_MAP, node_map);
  infos.add_regex(PMIX_PROC_MAP, rank_map);
  // Of this node. Open MPI makes these folders, and removes them if they are empty.
  infos.add_u32(PMIX_LOCAL_SIZE, places.here().size());
  infos.add_u32(PMIX_NODE_SIZE, places.here().size());
  infos.add_rank(PMIX_LOCALLDR, places.here().front());
  infos.add_text(PMIX_LOCAL_PEERS, list_of(places.here()));
  infos.add_text(PMIX_TMPDIR, folder);
  infos.add_text(PMIX_NSDIR, folder + "/job");
  infos.add_flag(PMIX_TDIR_RMCLEAN, true);
  for (std::uint32_t program = 0; program < places.programs.size(); ++program) {
    describe_program(places, program, infos.add_array(PMIX_APP_INFO_ARRAY));
  }
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    describe_rank(places, rank, folder, infos.add_array(PMIX_PROC_INFO_ARRAY));
  }
}

}  // namespace dtl::pmix
