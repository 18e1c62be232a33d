// known_hosts_here FILE HOST...: prints, for each host, the numbers of the lines that match it.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "launcher/ssh/known_hosts_index.h"

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  std::ifstream file(argv[1]);
  std::ostringstream text;
  text << file.rdbuf();
  const dtl::KnownHostsIndex lines(text.str(), "");
  for (int i = 2; i < argc; ++i) {
    for (const dtl::KnownHostsLine& line : lines.about(dtl::to_lower(argv[i]))) {
      std::printf("%s ", line.where.c_str() + 1);
    }
    std::printf("\n");
  }
}
