// Mutates valid job files, program files and pins, and checks their parsers' promises: a valid
// result, or one Error with a place. A crash, another exception, an empty result or an error
// without a place fails and prints the text. reader_fuzz covers files that others write.
//   text_fuzz [ROUNDS [SEED]]      the same seed gives the same texts

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "launcher/request/job_file.h"
#include "plan/pinning/pin_domains.h"
#include "plan/pinning/pin_request.h"
#include "tests/fuzz/mutations.h"
#include "tests/plan/invented_nodes.h"

namespace dtl {
namespace {

// Pieces that are meaningful to one of the parsers.
const std::vector<std::string> kPieces = {"[",
                                          "]",
                                          "-",
                                          ",",
                                          ":",
                                          "@",
                                          "=",
                                          "#",
                                          "//",
                                          "\n",
                                          "\r\n",
                                          "\t",
                                          " ",
                                          "\"",
                                          "'",
                                          "'''",
                                          "\\",
                                          "\\u0000",
                                          "0",
                                          "01-04",
                                          "65536",
                                          "9-1",
                                          "n01",
                                          "slots=2",
                                          "::1",
                                          "%eth0",
                                          "user=x",
                                          "port=",
                                          "10.0.0.",
                                          "true",
                                          "[hosts]",
                                          "[[a]]",
                                          "{a=1}",
                                          ".",
                                          "a.b=1",
                                          "1e999",
                                          "ranks",
                                          "timeout",
                                          "\xef\xbb\xbf",
                                          "\xff",
                                          std::string(1, '\0'),
                                          "99999999999999999999",
                                          "[trainer]",
                                          "list = [\"a\"]",
                                          "2024-02-30",
                                          "\x1b[2J",
                                          "[1-300][1-300]"};

// "hosts:3:7", "column 7", "job.toml:3": a name, then numbers that are at least 1.
bool says_where(const Error& error, const std::string& prefix) {
  const std::string& attempted = error.attempted();
  if (prefix.ends_with('=') || prefix.starts_with('-')) {  // a whole variable or option
    return attempted.find(prefix) != std::string::npos && !error.reason().empty();
  }
  if (!attempted.starts_with(prefix)) return false;
  const std::string number =
      attempted.substr(prefix.size(), attempted.find_first_of(": ", prefix.size()) - prefix.size());
  return parse_integer(number, 1, INT32_MAX).has_value() && !error.reason().empty();
}

// Pins three ranks on two sockets with four cores each, two threads per core.
void check_pins(const PinOptions& options, const Variables& set) {
  const PinRequest request = parse_pin_request(options, set);
  if (request.kind == PinKind::kDefault || request.kind == PinKind::kNone) return;
  const NodeTopology topology = invented_topology(2, 4, 2);
  const PinDomains domains = pin_domains(request, topology, 3, 2, "node1");
  if (domains.of_rank.size() != 3) throw std::runtime_error("not a domain for each rank");
  for (const CpuSet& cpus : domains.of_rank) {
    if (!(cpus - topology.allowed).empty()) throw std::runtime_error("CPUs that are not there");
    if (cpus.empty() && request.kind != PinKind::kUser) throw std::runtime_error("no CPU");
  }
}

void check_pin_variable(const std::string& name, const std::string& text) {
  check_pins({}, {{name, text}});
}

struct Target {
  const char* name;
  std::string prefix;  // of an error's place
  std::vector<std::string> seeds;
  void (*parse)(const std::string& text);
};

std::vector<Target> targets() {
  return {
      {"job file",
       "job.toml:",
       {"ranks = 4\nranks_per_node = 2\ntimeout = 9\n[hosts]\nlist = [\"a:2\", \"b\"]\n",
        "program = \"python3\"\narguments = [\"x.py\", 'y']\nreport = \"r\"\nlabel = true\n",
        "[environment]\nA = 'b'\nC = 1\n[pinning]\nenabled = false\nthreads = 3\n",
        "nodes = 2\nrank_map = \"0,(1,2,2)\"\nport_range = \"4000:4009\"\nlauncher = 'fork'\n",
        "deal = 2\ncompat = ['ompi', \"horovod\"]\ninherit = \"list:A,B\"\n"
        "[[programs]]\nprogram = \"a\"\nranks = 2\n[[programs]]\nprogram = 'b'\n"
        "inherit = 'none'\nenvironment = { A = 1 }\n[programs.x]\n",
        "[trainer]\nmax_steps = 10\nlearning_rate = 2e-5\ndo_train = true\nx = \"\"\"y\nz\"\"\"\n"},
       [](const std::string& text) { parse_job_file(text, "job.toml"); }},
      {"program file",
       "jobs:",
       {"-n 2 -host a:2,b -env A=1 python3 'x y.py' --z\n# rest\n-host c -x B -wdir /tmp \\\n y\n",
        "-np 1 a : -envlist A,B -n 3 b\n"},
       [](const std::string& text) {
         CommandLine line = parse_command_line({"-configfile", "jobs"});
         add_program_file(line, text, "jobs");
         if (line.programs.empty()) throw std::runtime_error("no programs and no error");
       }},
      {"pin domain",
       "I_MPI_PIN_DOMAIN=",
       {"[f,0xf0,]", "socket", "auto:scatter", "2:platform", "omp", "cache3"},
       [](const std::string& text) { check_pin_variable("I_MPI_PIN_DOMAIN", text); }},
      {"processor list",
       "I_MPI_PIN_PROCESSOR_LIST=",
       {"0-3,8", "allcores:map=scatter", "all:grain=2,shift=half,preoffset=1,postoffset=core"},
       [](const std::string& text) { check_pin_variable("I_MPI_PIN_PROCESSOR_LIST", text); }},
      {"-bind-to",
       "--bind-to",
       {"core:2", "user:0+2,1-3x2", "socket:overload-allowed", "hwthread", "none"},
       [](const std::string& text) {
         PinOptions options;
         options.bind_to = text;
         check_pins(options, {});
       }},
      {"-map-by",
       "--map-by",
       {"ppr:2:socket", "slot:PE=2", "numa:2:SPAN", "socket,NOOVERSUBSCRIBE", "node"},
       [](const std::string& text) {
         PinOptions options;
         options.map_by = text;
         check_pins(options, {});
       }},
  };
}

struct Tally {
  std::size_t accepted = 0, refused = 0;
};

// True if the parser kept its promise for this text.
bool holds(const Target& target, const std::string& text, Tally& tally) {
  std::string problem;
  try {
    target.parse(text);
    ++tally.accepted;
    return true;
  } catch (const Error& error) {
    if (says_where(error, target.prefix)) {
      ++tally.refused;
      return true;
    }
    problem = fmt::format("the error does not say where: {}", plain_text(error.what()));
  } catch (const std::exception& error) {
    problem = fmt::format("{}", plain_text(error.what()));
  }
  fmt::print(stderr, "{}: {}\n  for the text: {}\n", target.name, problem, plain_text(text));
  return false;
}

int run(std::size_t rounds, std::uint64_t seed) {
  Random random(seed);
  bool good = true;
  for (const Target& target : targets()) {
    Tally tally;
    for (const std::string& text : target.seeds) good = holds(target, text, tally) && good;
    for (std::size_t round = 0; round < rounds && good; ++round) {
      good = holds(target, mutated(random, pick(random, target.seeds), kPieces), tally);
    }
    fmt::print("{}: {} accepted, {} refused\n", target.name, tally.accepted, tally.refused);
    // Mutations that are always or never refused would test nothing.
    if (good && rounds >= 1000 && (tally.accepted < 10 || tally.refused < 10)) {
      fmt::print(stderr, "{}: the mutations are one-sided\n", target.name);
      good = false;
    }
  }
  if (!good) fmt::print(stderr, "seed {}\n", seed);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace dtl

int main(int argc, char** argv) {
  const std::uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  return dtl::run(rounds, seed);
}
