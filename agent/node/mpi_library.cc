// The names of libraries decide wherever they can. Open MPI and MPICH have different ones today,
// but libmpi.so.12 may be MPICH, Intel MPI, MVAPICH or Open MPI 1.10. Then the names in the
// library's own symbol table decide: 20 to 120 KB, while the library has up to 60 MB.
#include "agent/node/mpi_library.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

#include "agent/node/elf_file.h"
#include "agent/node/hidden_mpi.h"
#include "agent/node/run_program.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr auto kListPatience =
    std::chrono::seconds(1);  // for libraries on a cold network file system
constexpr std::size_t kMostListed = std::size_t{256}
                                    << 10;  // of a line for each of 2,000 libraries

// What a name tells. kAsk: the library's file must be read.
enum class Sign { kNoMpi, kAsk, kMpich, kIntel, kOpenMpi, kSpectrum, kCray };

// "libmpi.so.12.0" -> {"mpi", 12}.
struct LibraryName {
  std::string_view stem;
  std::int64_t major = -1;  // -1: "libmpi.so"
};

std::optional<LibraryName> parse_library_name(std::string_view name) {
  constexpr std::string_view kLib = "lib", kSo = ".so";
  const std::size_t so = name.find(kSo);
  if (!name.starts_with(kLib) || so == name.npos) return std::nullopt;
  LibraryName parsed{name.substr(kLib.size(), so - kLib.size()), -1};
  std::string_view version = name.substr(so + kSo.size());
  if (version.empty()) return parsed;
  if (version.front() != '.') return std::nullopt;
  version.remove_prefix(1);
  const auto major = parse_integer(version.substr(0, version.find('.')), 0, 1'000'000);
  if (!major) return std::nullopt;
  parsed.major = *major;
  return parsed;
}

Sign sign_of_major(std::int64_t major) {
  switch (major) {
    case 0:  // Open MPI 1.2 to 1.8
    case 1:
    case 2:
    case 3:
    case 20:  // Open MPI 2
    case 40:  // Open MPI 3 to 5
      return Sign::kOpenMpi;
    case 4:
      return Sign::kIntel;  // Intel MPI 4
  }
  return Sign::kAsk;
}

Sign sign_of(std::string_view file_name) {
  struct Known {
    std::string_view stem;
    Sign sign;
  };
  // A Fortran or C++ program may need only the library of its language.
  static constexpr Known kKnown[] = {
      {"mpich", Sign::kMpich},           {"mpichfort", Sign::kMpich},
      {"mpichcxx", Sign::kMpich},        {"mpichf90", Sign::kMpich},
      {"mpifort", Sign::kAsk},           {"mpicxx", Sign::kAsk},
      {"mpi_abi", Sign::kAsk},           {"mpi_ilp64", Sign::kIntel},
      {"mpi_mt", Sign::kIntel},          {"mpi_cxx", Sign::kOpenMpi},
      {"mpi_mpifh", Sign::kOpenMpi},     {"mpi_usempi", Sign::kOpenMpi},
      {"mpi_usempif08", Sign::kOpenMpi}, {"mpi_usempi_ignore_tkr", Sign::kOpenMpi},
      {"mpi_f77", Sign::kOpenMpi},       {"mpi_f90", Sign::kOpenMpi},
      {"mpi_java", Sign::kOpenMpi},      {"oshmem", Sign::kOpenMpi},
      {"mpi_ibm", Sign::kSpectrum}};
  const auto name = parse_library_name(file_name);
  if (!name) return Sign::kNoMpi;
  if (name->stem == "mpi") return sign_of_major(name->major);
  for (const Known& known : kKnown) {
    if (name->stem == known.stem) return known.sign;
  }
  // One for each compiler: libmpi_gnu_123.so.12.
  for (const std::string_view cray :
       {"mpi_cray", "mpi_gnu", "mpi_nvidia", "mpi_amd", "mpi_aocc", "mpi_intel"}) {
    if (name->stem.starts_with(cray) && name->major == 12) return Sign::kCray;
  }
  return Sign::kNoMpi;
}

// Only Open MPI exports ompi_*. Its ROMIO has names of MPICH, and Intel MPI is made from MPICH.
Sign sign_of_symbols(const std::string& path) {
  const std::string names = read_elf_names(path);
  if (names.find("ompi_") != names.npos) return Sign::kOpenMpi;
  if (names.find("I_MPI_") != names.npos) return Sign::kIntel;
  if (names.find("MPII_") != names.npos || names.find("MPIR_") != names.npos) return Sign::kMpich;
  return Sign::kAsk;
}

MpiLibrary library_of(Sign sign, const std::string& file_name) {
  const std::string in_brackets = " (" + printable(file_name) + ")";
  switch (sign) {
    case Sign::kNoMpi:
      break;
    case Sign::kAsk:
      // Other makers give libmpi.so no version.
      if (file_name.starts_with("libmpi.so") && parse_library_name(file_name)->major < 0) {
        return {MpiKind::kOther, "unknown MPI" + in_brackets};
      }
      return {MpiKind::kMpich, "MPICH or Intel MPI" + in_brackets};
    case Sign::kMpich:
      return {MpiKind::kMpich, "MPICH" + in_brackets};
    case Sign::kIntel:
      return {MpiKind::kIntel, "Intel MPI" + in_brackets};
    case Sign::kOpenMpi:
      return {MpiKind::kOpenMpi, "Open MPI" + in_brackets};
    case Sign::kSpectrum:
      return {MpiKind::kOpenMpi, "IBM Spectrum MPI" + in_brackets};
    case Sign::kCray:
      return {MpiKind::kOther, "Cray MPICH" + in_brackets};
  }
  return {};
}

// A library that a program needs; the path is empty where unknown.
struct Needed {
  std::string name, path;
};

std::string file_name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// "\tlibm.so.6 => /lib/libm.so.6 (0x00007f22a0bc3000)", "\tlibx.so.1 => not found",
// "\t/lib64/ld-linux-x86-64.so.2 (0x00007f22a0bc3000)".
Needed parse_listed(std::string_view line) {
  line = trim(line);
  if (const std::size_t address = line.rfind(" (0x"); address != line.npos) {
    line = line.substr(0, address);
  }
  constexpr std::string_view kArrow = " => ";
  const std::size_t arrow = line.find(kArrow);
  const std::string name(line.substr(0, arrow));
  const std::string path(arrow == line.npos ? line : line.substr(arrow + kArrow.size()));
  return {file_name_of(name), path.starts_with('/') ? path : std::string()};
}

// --library-path is the LD_LIBRARY_PATH of that one loader, in glibc and musl.
std::vector<Needed> list_libraries(const std::string& loader, const std::string& file,
                                   const std::string& library_path) {
  const ProgramOutput listed = run_program({loader, "--library-path", library_path, "--list", file},
                                           kListPatience, kMostListed);
  std::vector<Needed> libraries;
  for (const std::string& line : split(listed.text, '\n')) libraries.push_back(parse_listed(line));
  return libraries;
}

// Of several, Open MPI, as it cannot be served; then the one that says most.
MpiLibrary choose_mpi(const std::vector<Needed>& libraries) {
  MpiLibrary best;
  const auto is_better = [&](MpiKind kind) {
    return best.kind == MpiKind::kNone ||
           (kind == MpiKind::kOpenMpi && best.kind != MpiKind::kOpenMpi);
  };
  // libmpi.so.12 comes first, since libmpifort.so.12 has fewer names.
  for (const bool asks_mpi_itself : {true, false}) {
    for (const Needed& library : libraries) {
      if (library.name.starts_with("libmpi.so") != asks_mpi_itself) continue;
      Sign sign = sign_of(library.name);
      if (sign == Sign::kAsk && !library.path.empty()) sign = sign_of_symbols(library.path);
      MpiLibrary found = library_of(sign, library.name);
      if (found.kind != MpiKind::kNone && is_better(found.kind)) best = std::move(found);
    }
  }
  return best;
}

// Belongs to C or C++, and needs nothing but these.
bool is_runtime(std::string_view name) {
  constexpr std::string_view kRuntime[] = {"c",    "m",      "pthread", "dl",   "rt",
                                           "util", "resolv", "stdc++",  "gcc_s"};
  if (name.starts_with("ld-linux") || name.starts_with("ld64.so")) return true;
  const auto parsed = parse_library_name(name);
  return parsed &&
         std::find(std::begin(kRuntime), std::end(kRuntime), parsed->stem) != std::end(kRuntime);
}

bool may_run(const std::string& path) {
  std::error_code failed;
  return std::filesystem::is_regular_file(path, failed) && ::access(path.c_str(), X_OK) == 0;
}

// As execvp(3): an empty folder of PATH is the working directory. Empty: not found.
std::string program_file(const std::string& program, const std::string& search_path,
                         const std::filesystem::path& working_directory) {
  // Appending an absolute path replaces the directory.
  if (program.find('/') != program.npos) {
    const std::string file = (working_directory / program).string();
    return may_run(file) ? file : "";
  }
  if (program.empty()) return {};
  for (const std::string& folder : split(search_path, ':')) {
    const std::string file = (working_directory / folder / program).string();
    if (may_run(file)) return file;
  }
  return {};
}

// The MPI that the file itself shows.
MpiLibrary shown_mpi(const std::string& file, const std::string& library_path,
                     const std::string& working_directory) {
  const auto elf = read_elf(file);
  if (!elf) return {};
  std::vector<Needed> direct;
  bool must_ask = false;
  for (const std::string& name : elf->needed) {
    // Entries with a slash are paths, from the working directory.
    const bool is_path = name.find('/') != name.npos;
    const std::string path =
        is_path ? (std::filesystem::path(working_directory) / name).string() : "";
    direct.push_back({file_name_of(name), path});
    must_ask |= path.empty() && sign_of(direct.back().name) == Sign::kAsk;
  }
  const MpiLibrary named = choose_mpi(direct);
  const bool only_runtime = std::all_of(direct.begin(), direct.end(),
                                        [](const Needed& each) { return is_runtime(each.name); });
  must_ask |= named.kind == MpiKind::kNone && !only_runtime;
  if (!must_ask || named.kind == MpiKind::kOpenMpi) return named;
  if (!elf->interpreter.starts_with('/')) return named;
  const MpiLibrary listed = choose_mpi(list_libraries(elf->interpreter, file, library_path));
  return listed.kind == MpiKind::kNone ? named : listed;
}

}  // namespace

std::string_view to_text(MpiKind kind) {
  switch (kind) {
    case MpiKind::kNone:
      return "none";
    case MpiKind::kMpich:
      return "mpich";
    case MpiKind::kIntel:
      return "intel";
    case MpiKind::kOpenMpi:
      return "open_mpi";
    case MpiKind::kHidden:
      return "hidden";
    case MpiKind::kOther:
      break;
  }
  return "other";
}

MpiLibrary find_mpi(const std::string& program, const std::string& search_path,
                    const std::string& library_path, const std::string& working_directory) {
  const std::string file = program_file(program, search_path, working_directory);
  if (file.empty()) return {};
  const MpiLibrary shown = shown_mpi(file, library_path, working_directory);
  if (shown.kind != MpiKind::kNone) return shown;
  const std::string hidden = find_hidden_open_mpi(file, search_path, library_path);
  if (hidden.empty()) return {};
  return {MpiKind::kHidden, "Open MPI (" + file_name_of(hidden) + ")", hidden};
}

std::string find_open_mpi(const std::string& program, const std::string& search_path,
                          const std::string& library_path, const std::string& working_directory) {
  const std::string file = program_file(program, search_path, working_directory);
  const auto elf = file.empty() ? std::nullopt : read_elf(file);
  if (!elf || !elf->interpreter.starts_with('/')) return {};
  for (const Needed& each : list_libraries(elf->interpreter, file, library_path)) {
    if (is_open_mpi(each.name)) return each.path;
  }
  return {};
}

bool is_open_mpi(std::string_view file_name) {
  return sign_of(file_name) == Sign::kOpenMpi;
}

}  // namespace dtl
