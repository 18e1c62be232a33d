#pragma once
// Which MPI a program is linked with, found before the program starts. Starts nothing of MPI and
// never loads a library into this process. Nothing here throws.

#include <string>
#include <string_view>

namespace dtl {

enum class MpiKind {
  kNone,     // no MPI, or not a program that can be read: a script, another machine's
  kMpich,    // MPICH, or another with its ABI and PMI-1, as MVAPICH
  kIntel,    // Intel MPI
  kOpenMpi,  // Open MPI, or one made from it; needs PMIx
  kOther,    // another MPI, whose start-up protocol is unknown
  kHidden,   // none that can be seen, but it may load the Open MPI of this host (hidden_mpi.h)
};

struct MpiLibrary {
  MpiKind kind = MpiKind::kNone;
  std::string name;       // for people: "MPICH (libmpich.so.12)"; empty: none
  std::string path = {};  // kHidden: of that library
};

// "none", "mpich", "intel", "open_mpi", "other" or "hidden".
std::string_view to_text(MpiKind kind);

// Looks the program up as a rank would: a name with a slash from the working directory, any other
// in `search_path`, its PATH. `library_path` is its LD_LIBRARY_PATH. If the program needs an MPI
// through other libraries, or one whose name says too little, asks the program's own dynamic loader
// (--list): 3 ms, and at most 1 s. If it needs several MPIs, Open MPI comes first.
MpiLibrary find_mpi(const std::string& program, const std::string& search_path,
                    const std::string& library_path, const std::string& working_directory);

// The path of the Open MPI library that this program needs, as its loader finds it: 3 ms, and at
// most 1 s. Empty if it finds none.
std::string find_open_mpi(const std::string& program, const std::string& search_path,
                          const std::string& library_path, const std::string& working_directory);

// Whether a library's file name, with or without minor versions, is one of Open MPI:
// "libmpi.so.40.30.4".
bool is_open_mpi(std::string_view file_name);

}  // namespace dtl
