#pragma once
// Checks of files that a job needs, made before anything starts: hours of computing must not end
// with a report that cannot be written, and a job must not wait in line for a program that is not
// there. Starts nothing; any thread. They throw Error with what the user can do.

#include "launcher/options/output_choice.h"
#include "plan/request/request.h"

namespace dtl {

// Throws Error if the report, the file of metrics or the ranks' output cannot be written.
void check_output_files(const OutputChoice& shown, const Reporting& reporting);

// For jobs that wait or go to the background, and whose ranks all run on this machine: other hosts
// may have other programs. Throws Error(kNotFound) if a program is not on the PATH of its ranks or
// not in its folder, and Error(kNotExecutable) if this user may not execute it. Accepts what it
// cannot judge, such as a PATH with relative folders.
void check_programs_here(const Request& request);

}  // namespace dtl
