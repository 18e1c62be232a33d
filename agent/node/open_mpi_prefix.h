#pragma once
// Where an Open MPI that was moved after its build has its texts and plugins. It looks for them in
// the folder that it was built for, unless OPAL_PREFIX names another one: mpirun sets it.

#include <string>

namespace dtl {

// The value of OPAL_PREFIX for the Open MPI of this libmpi.so.40. Empty if it is where it was built
// for, if it has no texts, or if `library` is empty. Reads a file of 1 MB; never throws.
std::string moved_open_mpi_prefix(const std::string& library);

}  // namespace dtl
