#pragma once
// What --sync and --venv name: the folder with the job's code and the virtual environment of its
// Python, as far as they can be judged here. launcher/sync brings them to hosts. Reads the file
// system. Throws Error(kUsage).

#include <string>

#include "launcher/options/command_line.h"
#include "launcher/options/surroundings.h"
#include "plan/request/request.h"

namespace dtl {

// Absolute paths; empty: not asked for.
struct CodeFolders {
  std::string synced;          // --sync
  std::string venv;            // --venv
  std::string python;          // the program that has made the environment
  std::string python_version;  // "3.11"
  bool empty() const { return synced.empty() && venv.empty(); }
};

// Also sets the ranks' folder, if nothing else does, and the variables of the environment.
CodeFolders take_code_folders(const CommandLine& line, const Surroundings& around,
                              Request& request);

}  // namespace dtl
