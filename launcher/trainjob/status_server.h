#pragma once
// StatusServer: where Kubeflow's Trainer expects the progress of a TrainJob, as variables of the
// job's pods tell; the request that posts it; and the status in an answer. Pure. Errors name the
// variables and never their values: a user may have put the token there.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace dtl {

inline constexpr const char* kStatusUrl = "KUBEFLOW_TRAINER_SERVER_URL";
inline constexpr const char* kStatusToken = "KUBEFLOW_TRAINER_SERVER_TOKEN";
inline constexpr const char* kStatusCa = "KUBEFLOW_TRAINER_SERVER_CA_CERT";
// "TRUE", in any case, turns off reports; transformers' callback obeys it, too.
inline constexpr const char* kNoKubeflow = "DISABLE_KUBEFLOW_INTEGRATION";

struct StatusServer {
  bool tls = true;
  std::string host;  // a name or address; that of IPv6 without brackets
  int port = 0;
  std::string target;  // path and query
  std::string token_file;
  std::string ca_file;  // empty: the certificates that the system trusts
};

// variable: its value by name; nullptr: not set. nullopt: the server's variable is not set, or
// reports are turned off. Throws Error(kConfig) for a value that cannot be used.
std::optional<StatusServer> find_status_server(
    const std::function<const char*(const char*)>& variable);

// Throws Error(kConfig) unless the text is an http or https URL without a user.
StatusServer parse_status_url(std::string_view url);

// Printable ASCII without blanks, so that it cannot add a line to the request.
bool is_valid_token(std::string_view token);

// HTTP/1.1, after which the server closes the connection.
std::string status_request(const StatusServer& server, std::string_view token,
                           std::string_view body);

// The status of an answer that may be cut off; nullopt: not HTTP/1.
std::optional<int> http_status(std::string_view answer);

}  // namespace dtl
