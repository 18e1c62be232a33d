#pragma once
// Asks dttrain whether it takes a command line, before anything starts: a mistake in it is then one
// message, with the place in the job file, and not the failure of a job.

#include <string>
#include <vector>

#include "base/toml_file.h"
#include "plan/request/request.h"

namespace dtl {

struct TrainerCheck {
  std::string folder;              // of the programs
  std::vector<TomlEntry> trainer;  // what a job file says in [trainer] about the first program
  bool dry_run = false;            // nothing will be started: read files of options here, too
};

// Does nothing for other programs, and where no dttrain is in the folder. Throws Error with what
// dttrain finds wrong. Blocks.
void check_trainer_lines(const Request& request, const TrainerCheck& check);

}  // namespace dtl
