#pragma once
// The key that all pods of an MPIJob share, where its Secret is mounted: a folder with id_rsa,
// id_rsa.pub and authorized_keys. Nothing tells the pods which folder that is.

#include <string>

#include "plan/request/request.h"

namespace dtl {

// DTL_SSH_KEYS, which must hold the two halves of a key (Error(kConfig)); else ~/.ssh; else where
// anything is mounted. Empty: nowhere.
std::string find_pod_keys(const Variables& environment);
// The same in the launcher of an MPIJob; elsewhere empty.
std::string pod_keys_of_launcher(const Variables& environment);

}  // namespace dtl
