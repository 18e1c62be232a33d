#pragma once
// Whether a program may load Open MPI later, where its own file does not show it: a script, an
// interpreter, or a program that starts another one. A few calls of stat(2); nothing throws.

#include <string>
#include <vector>

namespace dtl {

// Where this host has Open MPI for such a program: the path of a libmpi.so.40. Empty if there is
// none, or the program is of another kind. file: the program. search_path, library_path: its PATH
// and LD_LIBRARY_PATH. Looks in library_path, beside the Python that it would run (a virtual
// environment's lib folder), then in library_folders().
std::string find_hidden_open_mpi(const std::string& file, const std::string& search_path,
                                 const std::string& library_path);

// The folders where an Open MPI may have brought its own libpmix.so.2 along, best first. open_mpi:
// the path of its library; may be empty.
std::vector<std::string> pmix_folders(const std::string& open_mpi, const std::string& library_path);

}  // namespace dtl
