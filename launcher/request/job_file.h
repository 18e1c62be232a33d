#pragma once
// JobFile: the job description in dtlaunch.toml(5), as a plain value. Merges nothing: the command
// line overrides the file, in job_inputs.h. A bad file is an Error(kBadInput) that starts with
// "FILE:LINE".

#include <optional>
#include <string>
#include <vector>

#include "base/toml_file.h"
#include "launcher/options/options.h"
#include "plan/request/host.h"
#include "plan/request/request.h"

namespace dtl {

struct JobFile {
  std::string path;
  std::vector<std::string> command;   // program, arguments, then [trainer] as flags of dttrain;
                                      // empty: the file names no program
  std::vector<TomlEntry> trainer;     // [trainer], for messages about it
  std::vector<ProgramLine> programs;  // [[programs]]; never together with command
  Variables environment;              // [environment], in file order; for all programs
  std::optional<Inheritance> inheritance;
  std::vector<Host> hosts;           // hosts.list; never together with hosts.file
  bool pin = true;                   // pinning.enabled
  std::optional<int> threads;        // pinning.threads
  std::vector<GivenOption> options;  // the keys that are also options of the command line
  BlockOptions said;                 // their values; paths start at the job file's folder
};

// Reads the file, which only this user or root may have written (trusted_file.h).
JobFile load_job_file(const std::string& path);
// The same for a text. Pure; `path` is for messages, and its folder for relative paths.
JobFile parse_job_file(const std::string& text, const std::string& path);

}  // namespace dtl
