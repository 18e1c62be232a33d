#pragma once
// The programs of other launchers whose names dtlaunch can have: `dtlaunch --names` prints a folder
// of links to dtlaunch with these names. Under such a name every line is a job, and where two of
// these launchers understand a word differently, a warning says which meaning counts. Pure.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options/option_words.h"
#include "plan/request/request.h"

namespace dtl {

struct CommandLine;
struct ProgramLine;

// mpiexec is mpirun's second name everywhere; mpiexec.hydra is never Open MPI's.
enum class CalledAs { kDtlaunch, kMpirun, kMpiexec, kHydra, kTorchrun };

// The links' names, which CMakeLists.txt of launcher/ has as well.
std::span<const std::string_view> foreign_programs();
// path: argv[0].
CalledAs called_as(std::string_view path);

// torchrun's -m is a flag, and options may follow it; dtlaunch's takes the module. Removes such a
// flag from `arguments` and returns whether there was one.
bool take_module_flag(std::vector<std::string>& arguments);
// As torchrun does: PYTHON_EXEC, else python3, runs the program, unless the line has --no-python.
// module: take_module_flag() has found one.
void run_with_python(const OptionWords& words, bool module, const Variables& environment,
                     ProgramLine& program);
// torchrun starts one rank per node if nothing says how many, and uses this host alone, whatever
// scheduler's job it is in, unless --nnodes, PET_NNODES or hosts are given. Throws Error(kUsage)
// for a number in PET_NPROC_PER_NODE that is none.
void take_torchrun_defaults(const OptionWords& words, const Variables& environment,
                            CommandLine& line);

// Under these names a line without a program is a mistake, not a demonstration. Throws
// Error(kUsage).
void check_program(CalledAs called, const CommandLine& line);
// A line for each word that two launchers of this name understand differently.
std::vector<std::string> meanings_taken(CalledAs called, const OptionWords& words,
                                        const CommandLine& line);

}  // namespace dtl
