#pragma once
// JobFile: what dtlaunch.toml(5) says about a job, as a plain value. Nothing is merged here: the
// command line wins over it, and job_inputs.h lays one over the other. A bad file is an
// Error(kBadInput) that starts with "FILE:LINE".

#include <optional>
#include <string>
#include <vector>

#include "launcher/options/options.h"
#include "plan/request/host.h"
#include "plan/request/request.h"

namespace dtl {

struct JobFile {
  std::string path;
  std::vector<std::string> command;   // program, arguments, then [trainer] as flags of dttrain;
                                      // empty: the file names no program
  std::vector<ProgramLine> programs;  // [[programs]]; never together with command
  Variables environment;              // [environment], in file order; for all programs
  std::optional<Inheritance> inheritance;
  std::vector<Host> hosts;           // hosts.list; never together with hosts.file
  bool pin = true;                   // pinning.enabled
  std::optional<int> threads;        // pinning.threads
  std::vector<GivenOption> options;  // the keys that are options of the command line, too
  BlockOptions said;                 // what they say; paths are seen from the job file's folder
};

// Reads the file, which only this user or root may have written (trusted_file.h).
JobFile load_job_file(const std::string& path);
// The same for a text. Pure; `path` is for messages and for the folder that paths are seen from.
JobFile parse_job_file(const std::string& text, const std::string& path);

}  // namespace dtl
