#pragma once
// The one table of dtlaunch's options: --help, the parser, the job file, completion and the man
// page's check all follow from it. Subcommands have tables of their own, of the same kind. Pure.

#include <string>

#include "base/options/option_table.h"
#include "launcher/options/command_line.h"

namespace dtl {

// What the options of one block of a command line say, up to a ':' or the end.
struct BlockOptions {
  CommandLine line;     // of the whole job; its programs are not touched
  ProgramLine program;  // of the block's program; -m begins its command
  bool help = false, version = false, show_limits = false, show_engine = false;
  bool round_robin = false;  // -rr
};

const OptionTable<BlockOptions>& option_table();

// The text of dtlaunch --help.
std::string help_text();

}  // namespace dtl
