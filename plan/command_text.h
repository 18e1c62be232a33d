#pragma once
// A command as it may be shown: quoted for a shell, with the values that look secret masked. Pure.

#include <span>
#include <string>
#include <vector>

namespace dtl {

// One word per argument: what needs quotes has them; the value of an option or of a NAME=value
// whose name looks secret (--hub_token X, --api-key=X), and every value that also stands in
// `environment` ("NAME=value") under such a name, is shown as ***.
std::vector<std::string> shown_arguments(std::span<const std::string> arguments,
                                         std::span<const std::string> environment);

}  // namespace dtl
