#pragma once
// Which Python a program runs, and its version, from links and a script's first line: never starts
// Python. Unknown values are empty.

#include <string>
#include <string_view>

namespace dtl {

// "python3" for itself; for a script the program in its "#!": "/venv/bin/python3", or "python3"
// after env. Empty for any other program. Looks for a bare name in `path`.
std::string python_of(const std::string& program, std::string_view path);

// "3.11" for "python3", looked for in `path`, or for a path: from the name of the file behind the
// links, or the pyvenv.cfg of its environment.
std::string python_version(const std::string& python, std::string_view path);

}  // namespace dtl
