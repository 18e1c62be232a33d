#pragma once
// The key that all pods of an MPIJob share. Its operator creates it and mounts it into each pod
// from a Secret: a folder with id_rsa, id_rsa.pub and authorized_keys. Nothing tells the pods the
// folder, so dtlaunch searches for it.

#include <string>

#include "plan/request/request.h"

namespace dtl {

// The folder: DTL_SSH_KEYS, which must have both halves of a key (Error(kConfig)); else ~/.ssh;
// else the first mount point with the files. Empty: none.
std::string find_pod_keys(const Variables& environment);
// The same in the launcher of an MPIJob. Elsewhere empty: a user's own ~/.ssh must not be taken for
// the pods' key, which replaces known_hosts.
std::string pod_keys_of_launcher(const Variables& environment);

}  // namespace dtl
