#pragma once
// The manner in which dtlaunch reads its command line: mpirun's spelling, with other launchers'
// options taken for ours, left out or refused with the reason. The tables are in foreign_options.h;
// the reader of words is base/options, which knows no launcher. Pure.

#include "base/options/option_words.h"

namespace dtl {

// Of a job: options come first, and unknown ones are looked up among other launchers'. What is left
// out because it means nothing here becomes a note, which -v shows.
const Manner& job_manner();

// Of a subcommand. Its options may stand before and after its words, and other launchers' options
// are unknown there. help: "dtlaunch ps --help", the command that errors suggest.
Manner subcommand_manner(std::string_view help);

}  // namespace dtl
