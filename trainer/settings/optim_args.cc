// Splits --optim_args at commas and equals signs, as transformers does. A key that the optimizer
// does not use is an error: a misspelt momentum would train another model.
#include "trainer/settings/optim_args.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "base/options/option_table.h"
#include "base/text.h"

namespace dtl::trainer {
namespace {

[[noreturn]] void refuse_optim_args(const Settings& s, const std::string& reason,
                                    const std::string& hint = "dttrain --help-all") {
  throw Error(Exit::kUsage, "--optim_args " + s.optim_args, reason, hint);
}

// Returns a description of the fault, empty if there is none.
std::string read_sgd_argument(const Settings& s, const std::string& key, const std::string& value,
                              OptimArgs& args) {
  if (key == "momentum") return read_real(value, 0, 0.999999999, args.momentum);
  if (key == "dampening") return read_real(value, 0, 1, args.dampening);
  if (key == "nesterov") return read_flag(value, args.nesterov);
  refuse_optim_args(
      s, fmt::format("--optim sgd takes momentum, dampening and nesterov, not '{}'", key),
      key == "weight_decay" ? "--weight_decay " + value : "--optim_args momentum=0.9");
}

}  // namespace

OptimArgs optim_args(const Settings& s) {
  OptimArgs args;
  if (s.optim_args.empty()) return args;
  if (s.optimizer != "sgd") {
    refuse_optim_args(s, fmt::format("--optim {} takes none (--adam_beta1, --adam_beta2, "
                                     "--adam_epsilon and --weight_decay are options)",
                                     s.optimizer));
  }
  for (const std::string& piece : split(s.optim_args, ',')) {
    const std::string_view trimmed = trim(piece);
    const std::size_t equals = trimmed.find('=');
    if (equals == trimmed.npos) {
      refuse_optim_args(s, fmt::format("'{}' is not NAME=VALUE", trimmed),
                        "--optim_args momentum=0.9");
    }
    const std::string key(trim(trimmed.substr(0, equals)));
    const std::string value(trim(trimmed.substr(equals + 1)));
    const std::string wrong = read_sgd_argument(s, key, value, args);
    if (!wrong.empty()) refuse_optim_args(s, fmt::format("{}={}: {}", key, value, wrong));
  }
  // torch.optim.SGD refuses this combination too.
  if (args.nesterov && (args.momentum == 0 || args.dampening != 0)) {
    refuse_optim_args(s, "nesterov needs a momentum and no dampening",
                      "--optim_args momentum=0.9,nesterov=true");
  }
  return args;
}

}  // namespace dtl::trainer
