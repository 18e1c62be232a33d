#pragma once
// How dtlaunch reads its command line: mpirun's spelling, with other launchers' options translated,
// ignored or refused with a reason. foreign_options.h has the tables; the parser is base/options,
// which knows no launcher. Pure.

#include "base/options/option_words.h"

namespace dtl {

// For a job: options come first, and unknown ones are looked up among other launchers'. An ignored
// option becomes a note, which -v shows.
const Manner& job_manner();

// For a subcommand. Its options may come before and after its words; other launchers' options are
// unknown. help: "dtlaunch ps --help", the command that errors suggest.
Manner subcommand_manner(std::string_view help);

}  // namespace dtl
