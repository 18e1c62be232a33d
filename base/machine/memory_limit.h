#pragma once
// What a program says when it gets no memory or no thread. A limit of address space (ulimit -v) is
// the usual cause of both where there is one, and the exception does not tell it from others.

#include <exception>
#include <optional>

#include "base/error.h"

namespace dtl {

// nullopt: the exception is about something else. Reads the limits of this process.
std::optional<Error> resource_error(const std::exception& failure);

}  // namespace dtl
