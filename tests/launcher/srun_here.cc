// A fake srun that prints the version SRUN_HERE_VERSION and records each call in the file
// SRUN_HERE_NOTES.

#include <cstdio>
#include <cstdlib>

int main() {
  const char *version = std::getenv("SRUN_HERE_VERSION"), *notes = std::getenv("SRUN_HERE_NOTES");
  if (version == nullptr || notes == nullptr) return 1;
  std::FILE* file = std::fopen(notes, "a");
  if (file == nullptr || std::fputs("asked\n", file) < 0 || std::fclose(file) != 0) return 1;
  return std::puts(version) < 0 ? 1 : 0;
}
