#pragma once
// dtlaunch's manner of reading its command line: mpirun's, with other launchers' spellings taken
// for ours, left out or refused with the reason; see foreign_options.h. Pure.

#include "base/options/option_words.h"

namespace dtl {

// Of a job. The words that other launchers' options leave behind are notes.
const Manner& job_manner();

// Of a subcommand, whose options may stand before and after its words; `help`: "dtlaunch ps
// --help".
Manner subcommand_manner(std::string_view help);

}  // namespace dtl
