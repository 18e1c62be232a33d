#pragma once
// What Kubernetes accepts as the name of an object, as an image and as an amount of memory. Pure.
// Each check returns what is wrong, empty when nothing is. The API server would say the same later,
// and in the words of a regular expression.

#include <cstdint>
#include <optional>
#include <string>

namespace dtl {

// A label of DNS-1035: small letters, digits and '-', beginning with a letter, at most 63 bytes.
// The names of the job's pods, services and replicas, which are `longest_suffix` longer, are labels
// too.
std::string check_label(const std::string& name, std::size_t longest_suffix = 0);
// A label of DNS-1123, which may begin with a digit: for a namespace.
std::string check_namespace(const std::string& name);
// Labels with dots between them, at most 253 bytes: for a Secret or a claim.
std::string check_object_name(const std::string& name);
// The key of a label, "example.com/name" or "name", and its value, which may be empty.
std::string check_label_key(const std::string& key);
std::string check_label_value(const std::string& value);
// Characters only: whether the image exists, the cluster will find out.
std::string check_image(const std::string& image);
// "16Gi", "500M", "1.5G" in bytes. nullopt for what is not an amount.
std::optional<double> parse_memory(const std::string& text);

}  // namespace dtl
