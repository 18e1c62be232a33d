// System calls and static buffers: opendir(3) and streams would allocate. Processes come and go
// while /proc is read, so a scan is not a snapshot: a parent may be missing, or its pid be another
// process.
#include "agent/processes/process_table.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

namespace dtl {
namespace {

// Static, as the header says.
Process g_processes[kMaxProcesses];

// One directory entry as getdents64(2) gives it.
struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

// Reads a small file of /proc into text (NUL-terminated); returns the size, or -1. One read(2) may
// return only part of the file.
ssize_t read_proc(pid_t pid, const char* name, char* text, std::size_t room) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  std::size_t size = 0;
  while (size + 1 < room) {
    const ssize_t n = ::read(fd, text + size, room - 1 - size);
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  ::close(fd);
  text[size] = '\0';
  return static_cast<ssize_t>(size);
}

bool tends_container(std::string_view name) {
  constexpr std::string_view kNames[] = {"conmon", "podman", "crun", "runc"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// "pid (name) state ppid pgrp session ..."; the name may contain anything, even parentheses.
bool read_stat(pid_t pid, Process& process, char& state) {
  char text[512];
  if (read_proc(pid, "stat", text, sizeof text) <= 0) return false;
  const char* after_name = std::strrchr(text, ')');
  int parent = 0, group = 0, session = 0;
  if (after_name == nullptr ||
      std::sscanf(after_name + 1, " %c %d %d %d", &state, &parent, &group, &session) != 4) {
    return false;
  }
  const char* name = std::strchr(text, '(') + 1;
  process = {pid,     parent,
             session, state != 'Z' && state != 'X',
             false,   tends_container({name, static_cast<std::size_t>(after_name - name)})};
  return true;
}

// Pids wrap around, so a child may precede its parent, and one pass is not enough.
void mark_descendants(std::span<Process> processes, pid_t root) {
  for (bool changed = true; changed;) {
    changed = false;
    for (Process& process : processes) {
      if (process.descendant) continue;
      const Process* parent = find_process(processes, process.parent);
      if (process.parent == root || (parent != nullptr && parent->descendant)) {
        process.descendant = changed = true;
      }
    }
  }
}

}  // namespace

std::span<Process> scan_processes() {
  const int folder = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return {};
  std::size_t count = 0;
  alignas(DirectoryEntry) static char entries[32 << 10];
  for (;;) {
    const long size = ::syscall(SYS_getdents64, folder, entries, sizeof entries);
    if (size <= 0) break;
    for (long at = 0; at < size && count < kMaxProcesses;) {
      const char* entry = entries + at;
      unsigned short length = 0;
      std::memcpy(&length, entry + offsetof(DirectoryEntry, length), sizeof length);
      // 0 for entries that are not processes.
      const pid_t pid = std::atoi(entry + offsetof(DirectoryEntry, name));
      char state = 0;
      if (pid > 0 && read_stat(pid, g_processes[count], state)) ++count;
      at += length;
    }
  }
  ::close(folder);
  const std::span<Process> processes(g_processes, count);
  std::sort(processes.begin(), processes.end(),
            [](const Process& a, const Process& b) { return a.pid < b.pid; });
  mark_descendants(processes, ::getpid());
  return processes;
}

const Process* find_process(std::span<const Process> processes, pid_t pid) {
  const auto at = std::lower_bound(processes.begin(), processes.end(), pid,
                                   [](const Process& process, pid_t p) { return process.pid < p; });
  return at != processes.end() && at->pid == pid ? &*at : nullptr;
}

// T: stopped by a signal, t: by a debugger.
bool can_run(pid_t pid) {
  Process process;
  char state = 0;
  return read_stat(pid, process, state) && process.alive && state != 'T' && state != 't';
}

bool has_unknown_children(bool (*known)(pid_t)) {
  char name[32];
  std::snprintf(name, sizeof name, "task/%d/children", ::getpid());
  static char text[256 << 10];
  const ssize_t size = read_proc(::getpid(), name, text, sizeof text);
  // A list that fills the buffer may be cut off.
  if (size < 0 || size + 1 >= static_cast<ssize_t>(sizeof text)) return true;
  for (char* at = text; *at != '\0';) {
    char* end = nullptr;
    const long pid = std::strtol(at, &end, 10);
    if (end == at) break;
    if (pid > 0 && !known(static_cast<pid_t>(pid))) return true;
    at = end;
  }
  return false;
}

int rank_in_environment(pid_t pid) {
  // Does not find a RANK beyond this; such a process ends with the job, not with its rank.
  static char text[128 << 10];
  const ssize_t size = read_proc(pid, "environ", text, sizeof text);
  for (ssize_t at = 0; at < size;) {
    if (std::strncmp(text + at, "RANK=", 5) == 0) return std::atoi(text + at + 5);
    at += static_cast<ssize_t>(std::strlen(text + at)) + 1;
  }
  return -1;
}

}  // namespace dtl
