#pragma once
// Sends one status to a TrainJob's server: a connection, a request, the head of the answer. Blocks
// its thread until then or the deadline. Connects directly, ignoring proxies, and follows no
// redirect, so that the token goes only to the server that Kubeflow named.

#include <chrono>
#include <string>

#include "launcher/trainjob/status_server.h"

namespace dtl {

// Reads the token and the certificates from their files each time, because Kubernetes renews them.
// Throws Error(kIo), whose reason never contains the token or a byte of the server's answer.
void post_status(const StatusServer& server, const std::string& body,
                 std::chrono::steady_clock::time_point deadline);

}  // namespace dtl
