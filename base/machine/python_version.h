#pragma once
// Which Python a program runs, and its version, found by links and a script's first line: Python
// itself is never started. What cannot be told is empty.

#include <string>
#include <string_view>

namespace dtl {

// "python3" for itself, and what "#!" names for a script: "/venv/bin/python3", or "python3" behind
// env. Empty for any other program. A bare name is looked for in `path`.
std::string python_of(const std::string& program, std::string_view path);

// "3.11" of "python3", looked for in `path`, or of a path: by the name of the file behind the
// links, or by the pyvenv.cfg of its environment.
std::string python_version(const std::string& python, std::string_view path);

}  // namespace dtl
