// The order matters: the job file may have the key `scheduler`, which decides which scheduler is
// read.
#include "launcher/request/job_inputs.h"

#include <unistd.h>

#include <algorithm>

#include "launcher/request/scheduler_job.h"

namespace dtl {
namespace {

constexpr const char* kDefaultJobFile = "dtlaunch.toml";

std::optional<JobFile> read_job_file(const CommandLine& line) {
  if (!line.job_file.empty()) return load_job_file(line.job_file);
  // With a program on the command line, a job file is read only on request. Otherwise one in the
  // current folder would change what `dtlaunch program` does.
  if (!line.programs[0].command.empty() || ::access(kDefaultJobFile, F_OK) != 0)
    return std::nullopt;
  return load_job_file(kDefaultJobFile);
}

// The file's values for what the command line does not set.
void take_from_file(const JobFile& file, CommandLine& line) {
  const bool names_program = line.programs.size() > 1 || !line.programs[0].command.empty();
  // First, because it adds up ranks: add_options() sets only what is still absent.
  if (!names_program && !file.programs.empty()) take_programs(line, file.programs);
  add_options(line, file.options);
  if (!line.inheritance) line.inheritance = file.inheritance;
}

}  // namespace

bool JobInputs::names_hosts() const {
  return !line.discover.empty() || !line.hosts.empty() || !line.hostfile.empty() ||
         (file && !file->hosts.empty()) ||
         std::any_of(line.programs.begin(), line.programs.end(),
                     [](const ProgramLine& program) { return !program.hosts.empty(); });
}

JobInputs read_job_inputs(const CommandLine& line, const Surroundings& around) {
  JobInputs inputs;
  inputs.line = line;
  inputs.file = read_job_file(line);
  if (inputs.file) take_from_file(*inputs.file, inputs.line);
  inputs.evidence = read_scheduler(inputs.line.starting.scheduler, around);
  return inputs;
}

}  // namespace dtl
