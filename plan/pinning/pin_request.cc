// Strongest first: -bind-to and -map-by, -binding, -genv, the environment. Overruled settings
// become notes for -v, not errors.
#include "plan/pinning/pin_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "plan/pinning/pin_binding.h"
#include "plan/pinning/pin_words.h"

namespace dtl {
namespace {

constexpr PinForm kDomainForm = {
    "core, socket, numa, node, cache1, cache2, cache3, cache; omp, auto or a number, with "
    ":compact, :scatter or :platform; or masks, [0xf,0xf0]",
    "core,socket,numa,node,cache1,cache2,cache3,cache,omp,auto,compact,scatter,platform", "core",
    "domain=core"};
constexpr PinForm kOrderForm = {"bunch, compact, scatter, spread or range",
                                "bunch,compact,scatter,spread,range", "scatter", "order=scatter"};
constexpr PinForm kListForm = {
    "CPUs such as 0,2,4-7; or allcores, all, allsocks with :grain=G,shift=S,preoffset=P,"
    "postoffset=Q or :map=bunch|scatter|spread",
    "allcores,all,allsocks,bunch,scatter,spread,fine,core,cache1,cache2,cache3,cache,socket",
    "allcores", "map=scatter"};
constexpr PinForm kSwitchForm = {"on or off", "on,off,yes,no,true,false", "on", "pin=on"};
constexpr PinForm kCellForm = {"unit or core", "unit,core", "core", "cell=core"};
constexpr PinForm kBindingForm = {
    "pin=yes|no;domain=...;order=...;cell=unit|core;map=bunch|scatter|spread", "", "domain=core",
    "domain=core"};

// request.count: 0 divides the node by its ranks, -1 uses OMP_NUM_THREADS.
void parse_domain_size(const PinText& source, PinRequest& request) {
  request.kind = PinKind::kSize;
  const std::size_t colon = source.text.find(':');
  const std::string size = plain_word(source.text.substr(0, colon));
  if (size == "auto") {
    request.count = 0;
  } else if (size == "omp") {
    request.count = -1;
  } else {
    // Not a number; pin_count() reports numbers out of range.
    if (!parse_integer(size, 0, 1 << 30)) throw source.bad(size);
    request.count = pin_count(source, size);
  }
  if (colon == std::string::npos) return;
  const std::string layout = plain_word(source.text.substr(colon + 1));
  if (layout == "compact") {
    request.layout = PinLayout::kCompact;
  } else if (layout == "scatter") {
    request.layout = PinLayout::kScatter;
  } else if (layout == "platform") {
    request.layout = PinLayout::kPlatform;
  } else {
    throw source.bad(layout, "is not a layout");
  }
}

void parse_domain(const PinText& source, PinRequest& request) {
  const auto object = pin_object(source.text);
  if (source.text.starts_with('[')) {
    request.kind = PinKind::kMasks;
    request.masks = parse_masks(source);
  } else if (object && *object != PinObject::kThread && source.text != "slot") {
    // Only -bind-to and -map-by accept threads and slots.
    request.kind = PinKind::kShape;
    request.object = *object;
  } else {
    parse_domain_size(source, request);
  }
}

PinOrder parse_order(const PinText& source) {
  if (source.text == "bunch") return PinOrder::kBunch;
  if (source.text == "compact") return PinOrder::kCompact;
  if (source.text == "scatter") return PinOrder::kScatter;
  if (source.text == "spread") return PinOrder::kSpread;
  if (source.text == "range") return PinOrder::kRange;
  throw source.bad(source.text);
}

// Checked here, where the error can name the text. pin_domains.cc converts the word to a number of
// units on each node.
void check_grain(const PinText& source, const std::string& word) {
  for (const char* name : {"fine", "core", "cache1", "cache2", "cache3", "cache", "socket", "sock",
                           "half", "third", "quarter", "octavo"}) {
    if (word == name) return;
  }
  pin_count(source, word);
}

void parse_list_setting(const PinText& source, std::string_view piece, PinRequest& request) {
  const std::size_t equals = piece.find('=');
  const std::string key = plain_word(piece.substr(0, equals));
  const std::string value = equals == std::string::npos ? "" : plain_word(piece.substr(equals + 1));
  if (key == "map") {
    if (value != "bunch" && value != "scatter" && value != "spread") {
      throw source.bad(value, "is not a map");
    }
    request.order = parse_order({source.origin, value, source.form});
  } else if (key == "grain" || key == "shift") {
    check_grain(source, value);
    (key == "grain" ? request.grain : request.shift) = value;
  } else if (key == "preoffset" || key == "postoffset") {
    // 0 is a valid offset, but pin_count() starts at 1.
    if (value != "0") check_grain(source, value);
    (key == "preoffset" ? request.preoffset : request.postoffset) = value;
  } else {
    throw source.bad(piece);
  }
}

void parse_processor_list(const PinText& source, PinRequest& request) {
  request.kind = PinKind::kProcessor;
  const std::size_t colon = source.text.find(':');
  const std::string set = plain_word(source.text.substr(0, colon));
  if (set == "all" || set == "allcores" || set == "allsocks" || set == "allsockets") {
    request.object = set == "all"        ? PinObject::kThread
                     : set == "allcores" ? PinObject::kCore
                                         : PinObject::kPackage;
  } else {
    for (const int cpu : parse_cpu_numbers(source, set)) request.masks.push_back(CpuSet({cpu}));
  }
  if (colon == std::string::npos) return;
  for (const std::string& piece : split(source.text.substr(colon + 1), ',')) {
    parse_list_setting(source, piece, request);
  }
}

// The texts by name, each from its strongest source. An empty text counts as missing; the next
// source is used.
class Sources {
 public:
  Sources(const Variables& set, const Variables& inherited) : set_(set), inherited_(inherited) {}

  // Adds a setting of -binding, as a variable that wins over all others.
  void add_option(const std::string& variable, const std::string& value) {
    option_.emplace_back(variable, value);
  }

  std::optional<PinText> find(const std::string& name, const PinForm& form) const {
    for (const auto& [variables, origin] :
         {std::pair(&option_, "-binding, "), std::pair(&set_, "-genv "),
          std::pair(&inherited_, "")}) {
      std::string value;
      // If a variable is set twice, the last one counts.
      for (const auto& [key, text] : *variables) {
        if (key == name) value = text;
      }
      if (!trim(value).empty()) return PinText{origin + name, plain_word(value), form};
    }
    return std::nullopt;
  }

 private:
  const Variables& set_;
  const Variables& inherited_;
  Variables option_;
};

// "pin=yes;domain=socket;order=scatter;cell=core;map=spread". Each part becomes the equivalent
// variable, so one parser reads both.
void take_binding(const std::string& text, Sources& sources) {
  const PinText source{"-binding", std::string(trim(text)), kBindingForm};
  std::string list;
  for (const std::string& piece : split(plain_word(text), ';')) {
    if (trim(piece).empty()) continue;
    const std::size_t equals = piece.find('=');
    const std::string key = plain_word(piece.substr(0, equals));
    const std::string value =
        equals == std::string::npos ? "" : std::string(trim(piece.substr(equals + 1)));
    if (value.empty()) throw source.bad(piece);
    if (key == "pin") {
      sources.add_option("I_MPI_PIN", value);
    } else if (key == "domain") {
      sources.add_option("I_MPI_PIN_DOMAIN", value);
    } else if (key == "order") {
      sources.add_option("I_MPI_PIN_ORDER", value);
    } else if (key == "cell") {
      sources.add_option("I_MPI_PIN_CELL", value);
    } else if (key == "map") {
      sources.add_option("I_MPI_PIN_PROCESSOR_LIST", "all:map=" + value);
    } else {
      throw source.bad(piece);
    }
  }
}

void parse_variables(const Sources& sources, PinRequest& request) {
  if (const auto pin = sources.find("I_MPI_PIN", kSwitchForm)) {
    const auto on = pin_switch(pin->text);
    if (!on) throw pin->bad(pin->text);
    // Then nothing else matters, not even a domain.
    if (!*on) {
      request.kind = PinKind::kNone;
      request.origin = pin->origin + "=" + pin->text;
      return;
    }
  }
  if (const auto cell = sources.find("I_MPI_PIN_CELL", kCellForm)) {
    if (cell->text != "unit" && cell->text != "core") throw cell->bad(cell->text);
    request.cell_core = cell->text == "core";
  }
  const auto domain = sources.find("I_MPI_PIN_DOMAIN", kDomainForm);
  const auto list = sources.find("I_MPI_PIN_PROCESSOR_LIST", kListForm);
  if (domain) {
    request.origin = domain->origin + "=" + domain->text;
    parse_domain(*domain, request);
    // As in Intel MPI.
    if (list) request.notes.push_back(list->origin + ": left out: I_MPI_PIN_DOMAIN is given");
  } else if (list) {
    request.origin = list->origin + "=" + list->text;
    parse_processor_list(*list, request);
  }
  if (const auto order = sources.find("I_MPI_PIN_ORDER", kOrderForm)) {
    request.order = parse_order(*order);
    if (!domain)
      request.notes.push_back(order->origin + " has an effect with I_MPI_PIN_DOMAIN only");
  }
  if (const auto respect = sources.find("I_MPI_PIN_RESPECT_CPUSET", kSwitchForm)) {
    const auto on = pin_switch(respect->text);
    if (!on) throw respect->bad(respect->text);
    if (!*on)
      request.notes.push_back(respect->origin + "=off changes nothing: no pin leaves a cpuset");
  }
}

// "--bind-to socket" as a line of the hostfile has it: "binding=socket".
std::string in_hostfile(const std::string& hint) {
  for (const auto& [option, key] :
       {std::pair<std::string_view, std::string>("--bind-to ", "binding="),
        {"-binding domain=", "pin_domain="}}) {
    if (hint.starts_with(option)) return key + hint.substr(option.size());
  }
  return hint;
}

}  // namespace

PinRequest parse_pin_request(const PinOptions& options, const Variables& set) {
  PinRequest request;
  Sources sources(set, options.environment);
  if (!options.binding.empty()) take_binding(options.binding, sources);
  parse_variables(sources, request);
  if (!options.bind_to.empty() || !options.map_by.empty()) {
    // Parsed anyway: an error in a variable is an error even if the variable is overruled.
    const bool overruled = request.kind != PinKind::kDefault;
    const std::string other = request.origin;
    request.kind = PinKind::kDefault;
    parse_bind_and_map(options.bind_to, options.map_by, request);
    if (overruled) request.notes.push_back(other + ": left out: " + request.origin + " is given");
  }
  if (!options.memory_bind.empty()) request.memory = parse_memory_bind(options.memory_bind);
  return request;
}

PinRequest pin_request_of(const Request& request, const Host* host) {
  PinOptions options = request.pinning;
  Variables set = request.environment.set;
  // Ranks of several programs share a node. One program's -env cannot pin all of them.
  if (request.programs.size() == 1) {
    const Variables& own = request.programs[0].set;
    set.insert(set.end(), own.begin(), own.end());
  }
  const bool says = host != nullptr && !(host->pin_domain.empty() && host->binding.empty());
  // A hostfile line concerns this specific host, so it wins over the job file's switch.
  if (!request.pinning.enabled && !says) {
    PinRequest none;
    none.kind = PinKind::kNone;
    none.origin = "pinning.enabled = false";
    return none;
  }
  if (!says) return parse_pin_request(options, set);
  const bool by_domain = !host->pin_domain.empty();
  const std::string origin =
      by_domain ? "pin_domain=" + host->pin_domain : "binding=" + host->binding;
  // A host's own settings in the hostfile replace -bind-to, -map-by and -binding.
  options.map_by.clear();
  options.bind_to = by_domain ? "" : host->binding;
  options.binding = by_domain ? "domain=" + host->pin_domain : "";
  try {
    PinRequest own = parse_pin_request(options, set);
    // Messages name the user's words, not the variables derived from them.
    own.origin = origin;
    return own;
  } catch (const Error& error) {
    throw file_error(host->where, origin, error.reason(), in_hostfile(error.hint()));
  }
}

}  // namespace dtl
