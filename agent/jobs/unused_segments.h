#pragma once
// Files in /dev/shm through which the MPI ranks of a host share memory. MPI_Finalize removes them.
// Ranks that are killed or call MPI_Abort leave them: 2 MiB for a job of MPICH 5, 16 MiB for a rank
// of Open MPI 5.

#include <string>
#include <vector>

namespace dtl {

// Removes those of this user that no process has open or mapped, whichever job left them. Returns
// their paths. Keeps what it cannot be sure of. Takes 0.1 ms.
std::vector<std::string> remove_unused_segments();

}  // namespace dtl
