#pragma once
// Notices a rank that runs an MPI by itself: a Python program loads its MPI when it imports mpi4py,
// which no look at the program before its start can tell. Open MPI finds no PMIx server, and then
// each rank is rank 0 of 1, without an error.

#include <sys/types.h>

#include <optional>
#include <string>

namespace dtl {

// The path of the Open MPI library in this process, if MPI_Init has run or runs in it. nullopt: the
// process has loaded none; has only loaded it, as programs do that need it in other runs; was
// started by an mpirun inside a rank; or cannot be examined. Reads /proc, without waiting: 0.5 ms,
// and 2 ms for a Python with PyTorch.
std::optional<std::string> unserved_mpi(pid_t process);

// Whether it has the variable PMI_FD, as every rank has. Who removes it, `env -i ./tool`, wants an
// MPI program to run alone.
bool is_offered_pmi(pid_t process);

}  // namespace dtl
