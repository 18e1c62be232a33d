#pragma once
// Finds libraries on this node, for --preload and LD_PRELOAD, the version of its Python, the MPI of
// a program and what serves it: the answer to Examine with what=libraries.

#include <string>
#include <vector>

#include "wire/messages.h"

namespace dtl {

// One fact for each parameter "file" or "library", in order and with the same name: its path, or an
// empty value. A file is a path, or the bare name of a library. A library ("libjemalloc.so") may
// also have a version at its end (libjemalloc.so.2); the highest wins. Searches each "folder"
// first, in order, then library_folders(). Likewise one for each "directory": its path, or an empty
// value; and for each "python", looked for in the last "PATH" before it: its version as "3.11", or
// an empty value. For each "mpi", the name of a program, which MPI it needs: "mpich MPICH
// (libmpich.so.12)", or an empty value. It is looked for in the last "PATH" and "cwd" before it,
// with the last "LD_LIBRARY_PATH" before it. May wait 1 s for each "mpi" (mpi_library.h). For
// "pmix", libpmix's version or why there is none (examine_pmix.h); with "if_needed" empty if no
// "mpi" before it needs one. own_folder: dtagent's.
struct LibrariesFound {
  Examined answer;
  std::string pmix_libraries;   // the folder of libpmix, for "pmix"; empty: the loader finds it
  std::string open_mpi_prefix;  // likewise, the OPAL_PREFIX that its ranks need; or empty
  bool needs_pmix = true;       // false: a program may load Open MPI, and most do not
};
LibrariesFound find_libraries(const Examine& wanted, const std::string& own_folder);

// Folders where the dynamic loader and users keep libraries, including the Debian folder of this
// architecture (multiarch) and /usr/lib64.
std::vector<std::string> library_folders();

}  // namespace dtl
