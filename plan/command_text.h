#pragma once
// A command as it may be shown or written down. Pure.

#include <span>
#include <string>
#include <vector>

namespace dtl {

// The arguments with secrets masked: the value of an option or of a NAME=value whose name looks
// secret (--hub_token X, --api-key=X), and every value that also stands in `environment`
// ("NAME=value") under such a name, becomes ***.
std::vector<std::string> masked_arguments(std::span<const std::string> arguments,
                                          std::span<const std::string> environment);

// The same for a terminal: what needs quotes in a shell has them, control bytes are gone.
std::vector<std::string> shown_arguments(std::span<const std::string> arguments,
                                         std::span<const std::string> environment);

}  // namespace dtl
