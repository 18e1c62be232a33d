#pragma once
// What Kubernetes takes as the name of a thing, as an image and as an amount of memory. Pure; each
// check gives what is wrong, empty when nothing is.

#include <cstdint>
#include <optional>
#include <string>

namespace dtl {

// A label of DNS-1035: small letters, digits and '-', a letter first, at most 63. The names of the
// job's pods, services and replicas, `longest_suffix` longer, are labels as well.
std::string check_label(const std::string& name, std::size_t longest_suffix = 0);
// A label of DNS-1123, which may begin with a digit: a namespace.
std::string check_namespace(const std::string& name);
// Labels with dots between them, at most 253: a Secret, a claim.
std::string check_object_name(const std::string& name);
std::string check_image(const std::string& image);
// "16Gi", "500M", "1.5G" in bytes; nullopt for what is no amount.
std::optional<double> parse_memory(const std::string& text);

}  // namespace dtl
