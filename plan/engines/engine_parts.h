#pragma once
// The readers of each kind of engine, which find_engine() chooses from. They fill in all of the
// evidence but its engine, the variables used and this machine's own place among the hosts. Pure.

#include <string>
#include <vector>

#include "plan/engines/engine.h"
#include "plan/engines/engine_reader.h"

namespace dtl {

EngineEvidence slurm_evidence(EngineReader& variables, const EngineAnswers& answers);
EngineEvidence flux_evidence(EngineReader& variables, const EngineAnswers& answers);
// PBS, LSF and SGE, which list the hosts with their slots.
EngineEvidence listed_evidence(Engine engine, EngineReader& variables,
                               const EngineAnswers& answers);
// MPIJob, and TrainJob's MPI.
EngineEvidence mpi_job_evidence(EngineReader& variables, const EngineAnswers& answers);
// One dtlaunch in each pod: PyTorchJob, TrainJob, Indexed Job and JobSet.
EngineEvidence pod_evidence(Engine engine, EngineReader& variables, const EngineAnswers& answers);

// Where the engine's list of hosts lies, and what says so ("": nothing, it is the usual place).
struct EngineFile {
  std::string path, named_by;
};
EngineFile engine_file(Engine engine, EngineReader& variables);

// The text of that file. Throws Error(kBadInput) where it could not be read.
const std::string& text_of(const EngineFile& file, const EngineAnswers& answers);

// In the place of the engine's values: DTL_NNODES, DTL_NODE_RANK, DTL_RDZV, DTL_RESTART,
// DTL_JOB_ID.
void take_own_variables(EngineReader& variables, EngineEvidence& evidence);
// DTL_RDZV in the place of where the engine has them meet; where nobody names a port, one of the
// job's own, so that jobs which share a host do not want the same.
void take_meeting_point(EngineReader& variables, EngineEvidence& evidence);
// "dtl-worker-2.dtl.ns" -> "dtl-worker-2"
std::string first_label(const std::string& name);

}  // namespace dtl
