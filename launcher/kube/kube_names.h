#pragma once
// Checks what Kubernetes accepts as an object's name, an image or an amount of memory. Pure. Each
// check returns what is wrong, or empty. The API server would report the same later, as a regular
// expression.

#include <cstdint>
#include <optional>
#include <string>

namespace dtl {

// A label of DNS-1035: lower-case letters, digits and '-', beginning with a letter, at most 63
// bytes. Names of the job's pods, services and replicas, up to `longest_suffix` longer, must be
// labels too.
std::string check_label(const std::string& name, std::size_t longest_suffix = 0);
// A label of DNS-1123, which may begin with a digit: for a namespace.
std::string check_namespace(const std::string& name);
// Labels with dots between them, at most 253 bytes: for a Secret or a claim.
std::string check_object_name(const std::string& name);
// The key of a label, "example.com/name" or "name", and its value, which may be empty.
std::string check_label_key(const std::string& key);
std::string check_label_value(const std::string& value);
// Checks characters only: the cluster finds out whether the image exists.
std::string check_image(const std::string& image);
// "16Gi", "500M", "1.5G" in bytes. nullopt for any other text.
std::optional<double> parse_memory(const std::string& text);

}  // namespace dtl
