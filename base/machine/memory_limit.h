#pragma once
// The message of a program that cannot get memory or a thread. The usual cause is a limit of
// address space (ulimit -v), if there is one; the exception does not name the cause.

#include <exception>
#include <optional>

#include "base/error.h"

namespace dtl {

// nullopt: the exception has another cause. Reads the limits of this process.
std::optional<Error> resource_error(const std::exception& failure);

}  // namespace dtl
