#pragma once
// The command lines of podman that dtagent runs. Pure.

#include <cstdint>
#include <string>
#include <vector>

namespace dtl {

struct ContainerWish {
  std::string image;
  std::vector<std::string> folders;  // of the host, writable in the container under the same names
  std::string name;                  // of the container, for podman ps
  std::string holder;                // the path of dtagent, the container's program
  std::uint64_t most_files = 0, most_processes = 0;  // limits of the holder
};

// Exits with 0 if podman has the image, and with 1 if not.
std::vector<std::string> words_to_find_image(const std::string& image);

// Starts the container in the background and returns. Its program finds descriptor 3 as it is here.
// podman removes the container when the program ends.
std::vector<std::string> words_to_start(const ContainerWish& wish);

}  // namespace dtl
