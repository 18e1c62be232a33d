#include "launcher/trainjob/status_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::size_t kMostOfUrl = 2048;  // bytes; Kubeflow's have about 150

Error bad_status_url(const char* why) {
  return file_error(kStatusUrl, "", why, fmt::format("unset {}", kStatusUrl));
}

// A blank or control character could add a header or a second request.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

bool is_host(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  });
}

bool is_ipv6(std::string_view text) {
  return text.find(':') != text.npos && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isxdigit(c) != 0 || c == ':' || c == '.';
         });
}

// "host", "host:8443", "[::1]:8443"
void parse_authority(std::string_view text, StatusServer& server) {
  if (text.find('@') != text.npos) throw bad_status_url("it has a user in it");
  std::string_view host = text, port;
  bool valid = false;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == text.npos) throw bad_status_url("an IPv6 address does not end");
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    valid = is_ipv6(host);
  } else {
    host = text.substr(0, text.find(':'));
    port = text.substr(host.size());
    valid = is_host(host);
  }
  if (!valid) throw bad_status_url("it does not name a host");
  server.host = host;
  server.port = server.tls ? 443 : 80;
  if (port.empty()) return;
  const auto number =
      port.starts_with(':') ? parse_integer(port.substr(1), 1, 65535) : std::nullopt;
  if (!number) throw bad_status_url("its port is not a number from 1 to 65535");
  server.port = static_cast<int>(*number);
}

}  // namespace

StatusServer parse_status_url(std::string_view url) {
  if (url.size() > kMostOfUrl) throw bad_status_url("it is too long");
  if (!is_plain(url)) throw bad_status_url("it has blanks or characters outside ASCII");
  const std::size_t colon = url.find("://");
  const std::string scheme = to_lower(url.substr(0, colon));
  if (colon == url.npos || (scheme != "https" && scheme != "http")) {
    throw bad_status_url("not an http or https URL");
  }
  StatusServer server;
  server.tls = scheme == "https";
  url = url.substr(0, url.find('#'));
  const std::string_view rest = url.substr(std::min(colon + 3, url.size()));
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  parse_authority(rest.substr(0, end), server);
  server.target = rest.substr(end);
  if (!server.target.starts_with('/')) server.target.insert(0, "/");
  return server;
}

std::optional<StatusServer> find_status_server(
    const std::function<const char*(const char*)>& variable) {
  const auto value = [&](const char* name) {
    const char* text = variable(name);
    return std::string(text == nullptr ? "" : text);
  };
  const std::string url = value(kStatusUrl);
  if (url.empty() || to_lower(value(kNoKubeflow)) == "true") return std::nullopt;
  StatusServer server = parse_status_url(url);
  server.token_file = value(kStatusToken);
  server.ca_file = value(kStatusCa);
  if (server.token_file.empty()) {
    throw file_error(kStatusToken, "", fmt::format("not set, but {} is", kStatusUrl),
                     fmt::format("unset {}", kStatusUrl));
  }
  return server;
}

bool is_valid_token(std::string_view token) {
  return !token.empty() && is_plain(token);
}

std::string status_request(const StatusServer& server, std::string_view token,
                           std::string_view body) {
  const bool ipv6 = server.host.find(':') != std::string::npos;
  std::string host = ipv6 ? "[" + server.host + "]" : server.host;
  if (server.port != (server.tls ? 443 : 80)) host += fmt::format(":{}", server.port);
  return fmt::format(
      "POST {} HTTP/1.1\r\n"
      "Host: {}\r\n"
      "User-Agent: dtlaunch/{}\r\n"
      "Authorization: Bearer {}\r\n"
      "Content-Type: application/json\r\n"
      "Content-Length: {}\r\n"
      "Connection: close\r\n"
      "\r\n"
      "{}",
      server.target, host, DTL_VERSION, token, body.size(), body);
}

std::optional<int> http_status(std::string_view answer) {
  constexpr std::string_view kBegins = "HTTP/1.";
  constexpr std::size_t kDigits = kBegins.size() + 2;  // after the minor version and a blank
  if (!answer.starts_with(kBegins) || answer.size() < kDigits + 3) return std::nullopt;
  if (answer[kDigits - 1] != ' ') return std::nullopt;
  const auto status = parse_integer(answer.substr(kDigits, 3), 100, 999);
  const std::string_view rest = answer.substr(kDigits + 3);
  const bool ends = rest.empty() || rest[0] == ' ' || rest[0] == '\r' || rest[0] == '\n';
  if (!status || !ends) return std::nullopt;
  return static_cast<int>(*status);
}

}  // namespace dtl
