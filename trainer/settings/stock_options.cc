// Answers "why does dttrain not know this option?". An option without effect here is accepted with
// a notice, so that command lines of run_glue.py work. An option whose effect is missing is
// refused.
#include "trainer/settings/stock_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "base/text.h"

namespace dtl::trainer {
namespace {

using S = Settings;

enum class Answer { kAccepted, kRefused };

struct StockOption {
  Answer answer;
  std::string_view name;
  std::string_view value;  // as in --help; empty: true or false
  std::string_view usual;  // values separated by '|': TrainingArguments' default, or harmless
  std::string_view reason;
};

constexpr Answer kAccepted = Answer::kAccepted, kRefused = Answer::kRefused;

// Reasons that several rows share. They follow "... has no effect here: ".
constexpr std::string_view kNoGpu = "there are only CPUs";
constexpr std::string_view kNoTorch = "no PyTorch is involved";
constexpr std::string_view kNoTracker = "nothing is sent to a tracking service";
constexpr std::string_view kNoHub = "nothing is sent anywhere";
constexpr std::string_view kFolder = "the model folder has both";
constexpr std::string_view kNoDownload =
    "nothing is downloaded: use --train_file and --validation_file";
constexpr std::string_view kAllKept = "all activations are kept";
constexpr std::string_view kInMemory = "all examples are in memory";
constexpr std::string_view kOwnRing = "ranks talk through libdtring";
constexpr std::string_view kWholeModel = "each rank holds the whole model";
constexpr std::string_view kOneSplit = "a file is one split";
constexpr std::string_view kAllFigures = "all metrics of the task are computed";

// One row per line is easier to read.
// clang-format off
constexpr StockOption kStock[] = {
    // TrainingArguments of transformers 5
    {kAccepted, "--use_cpu", "", "false", kNoGpu},
    {kAccepted, "--tf32", "", "", kNoGpu},
    {kAccepted, "--torch_empty_cache_steps", "N", "", kNoGpu},
    {kAccepted, "--torch_compile", "", "false", kNoTorch},
    {kAccepted, "--torch_compile_backend", "NAME", "", kNoTorch},
    {kAccepted, "--torch_compile_mode", "NAME", "", kNoTorch},
    {kAccepted, "--use_liger_kernel", "", "false", kNoTorch},
    {kAccepted, "--liger_kernel_config", "JSON", "", kNoTorch},
    {kAccepted, "--use_cache", "", "false", "encoders have no such cache"},
    {kAccepted, "--activation_checkpointing", "", "false", kAllKept},
    {kAccepted, "--activation_checkpointing_kwargs", "JSON", "", kAllKept},
    {kAccepted, "--gradient_checkpointing", "", "false", kAllKept},
    {kAccepted, "--gradient_checkpointing_kwargs", "JSON", "", kAllKept},
    {kAccepted, "--auto_find_batch_size", "", "false", "the batch is as --per_device_train_batch_size says"},
    {kAccepted, "--average_tokens_across_devices", "", "true", "the loss is the mean over the examples of all ranks"},
    {kAccepted, "--accelerator_config", "JSON",
     "{\"split_batches\":false,\"dispatch_batches\":null,\"even_batches\":true,\"use_seedable_sampler\":true,"
     "\"non_blocking\":false,\"gradient_accumulation_kwargs\":null,\"use_configured_state\":false}",
     "how batches are shared out does not change the training"},
    {kAccepted, "--fsdp_config", "JSON", "", kWholeModel},
    {kAccepted, "--full_determinism", "", "false", "equal runs always give the same bits"},
    {kAccepted, "--log_level", "WORD", "passive", "there is only one log level"},
    {kAccepted, "--log_level_replica", "WORD", "warning", "only rank 0 prints and logs"},
    {kAccepted, "--log_on_each_node", "", "true", "only rank 0 prints and logs"},
    {kAccepted, "--logging_nan_inf_filter", "", "true", "a loss that is not a number ends the run"},
    {kAccepted, "--include_num_input_tokens_seen", "WORD", "no|false", "tokens are always counted"},
    {kAccepted, "--run_name", "NAME", "", kNoTracker},
    {kAccepted, "--project", "NAME", "huggingface", kNoTracker},
    {kAccepted, "--trackio_space_id", "NAME", "", kNoTracker},
    {kAccepted, "--trackio_bucket_id", "NAME", "", kNoTracker},
    {kAccepted, "--trackio_static_space_id", "NAME", "", kNoTracker},
    {kAccepted, "--prediction_loss_only", "", "false", kAllFigures},
    {kAccepted, "--include_for_metrics", "WORD ...", "", kAllFigures},
    {kAccepted, "--batch_eval_metrics", "", "false", "metrics always cover the whole evaluation"},
    {kAccepted, "--eval_do_concat_batches", "", "true", "metrics always cover the whole evaluation"},
    {kAccepted, "--eval_use_gather_object", "", "false", kOwnRing},
    {kAccepted, "--eval_accumulation_steps", "N", "", "logits are always in main memory"},
    {kAccepted, "--save_on_each_node", "", "false", "only rank 0 writes"},
    {kAccepted, "--enable_jit_checkpoint", "", "false", "SIGTERM always writes a checkpoint"},
    {kAccepted, "--restore_callback_states_from_checkpoint", "", "false",
     "a resumed run always restores the count of early stopping"},
    {kAccepted, "--hub_token", "TEXT", "<HUB_TOKEN>", kNoHub},
    {kAccepted, "--hub_private_repo", "", "", kNoHub},
    {kAccepted, "--hub_model_id", "NAME", "", kNoHub},
    {kAccepted, "--hub_strategy", "WORD", "every_save", kNoHub},
    {kAccepted, "--hub_always_push", "", "false", kNoHub},
    {kAccepted, "--hub_revision", "NAME", "", kNoHub},
    {kAccepted, "--dataloader_num_workers", "N", "0", kInMemory},
    {kAccepted, "--dataloader_pin_memory", "", "true", kNoGpu},
    {kAccepted, "--dataloader_persistent_workers", "", "false", kInMemory},
    {kAccepted, "--dataloader_prefetch_factor", "N", "", kInMemory},
    {kAccepted, "--dataloader_multiprocessing_context", "WORD", "", kInMemory},
    {kAccepted, "--dataloader_in_order", "", "true", kInMemory},
    {kAccepted, "--remove_unused_columns", "", "true", "other columns than text and label are not read"},
    {kAccepted, "--label_names", "NAME ...", "", "the task says what the labels are"},
    {kAccepted, "--length_column_name", "NAME", "length", "nothing is padded"},
    {kAccepted, "--ddp_find_unused_parameters", "", "", "all parameters are used"},
    {kAccepted, "--ddp_bucket_cap_mb", "N", "", kOwnRing},
    {kAccepted, "--ddp_broadcast_buffers", "", "", kOwnRing},
    {kAccepted, "--ddp_static_graph", "", "", kOwnRing},
    {kAccepted, "--ddp_backend", "NAME", "", kOwnRing},
    {kAccepted, "--ddp_timeout", "N", "1800", "the launcher notices ranks that are lost"},
    {kAccepted, "--local_rank", "N", "-1|0", "the launcher sets each rank's number"},
    {kAccepted, "--debug", "WORD ...", "", "use --debug_dump"},
    {kAccepted, "--skip_memory_metrics", "", "true", "memory is not measured"},
    // options of run_glue, run_qa, run_classification and run_ner
    {kAccepted, "--config_name", "FOLDER", "", kFolder},
    {kAccepted, "--tokenizer_name", "FOLDER", "", kFolder},
    {kAccepted, "--overwrite_cache", "", "false", "prepared data is not kept"},
    {kAccepted, "--token", "TEXT", "", "nothing is downloaded"},
    {kAccepted, "--use_auth_token", "", "", "nothing is downloaded"},
    {kAccepted, "--trust_remote_code", "", "false", "no code of a model is run"},
    {kAccepted, "--use_fast_tokenizer", "", "true", "there is one tokenizer, which works like the fast one"},
    {kAccepted, "--preprocessing_num_workers", "N", "", "all threads tokenise"},
    {kAccepted, "--train_split_name", "NAME", "", kOneSplit},
    {kAccepted, "--validation_split_name", "NAME", "", kOneSplit},
    {kAccepted, "--test_split_name", "NAME", "", kOneSplit},
    {kAccepted, "--remove_splits", "NAME[,NAME]", "", kOneSplit},
    {kAccepted, "--remove_columns", "NAME[,NAME]", "", "other columns than text and label are not read"},
    // TrainingArguments of transformers 3 and 4
    {kAccepted, "--no_cuda", "", "false", kNoGpu},
    {kAccepted, "--use_mps_device", "", "false", kNoGpu},
    {kAccepted, "--tpu_num_cores", "N", "", kNoGpu},
    {kAccepted, "--tpu_metrics_debug", "", "false", kNoGpu},
    {kAccepted, "--use_ipex", "", "false", kNoTorch},
    {kAccepted, "--jit_mode_eval", "", "false", kNoTorch},
    {kAccepted, "--torchdynamo", "NAME", "", kNoTorch},
    {kAccepted, "--half_precision_backend", "NAME", "auto", kNoTorch},
    {kAccepted, "--fp16_backend", "NAME", "auto", kNoTorch},
    {kAccepted, "--fp16_opt_level", "NAME", "O1", kNoTorch},
    {kAccepted, "--xpu_backend", "NAME", "", kOwnRing},
    {kAccepted, "--mp_parameters", "TEXT", "", kWholeModel},
    {kAccepted, "--fsdp_min_num_params", "N", "0", kWholeModel},
    {kAccepted, "--fsdp_transformer_layer_cls_to_wrap", "NAME", "", kWholeModel},
    {kAccepted, "--past_index", "N", "-1", "encoders have no such cache"},
    {kAccepted, "--ray_scope", "WORD", "last", "nothing is searched for"},
    {kAccepted, "--dispatch_batches", "", "", "how batches are shared out does not change the training"},
    {kAccepted, "--split_batches", "", "false", "how batches are shared out does not change the training"},
    {kAccepted, "--include_inputs_for_metrics", "", "false", kAllFigures},
    {kAccepted, "--include_tokens_per_second", "", "false", "tokens are always counted"},
    {kAccepted, "--use_legacy_prediction_loop", "", "false", "there is one way to predict"},
    {kAccepted, "--group_by_length", "", "false", "nothing is padded"},
    {kAccepted, "--save_safetensors", "", "true", "models are always saved as safetensors"},
    {kAccepted, "--push_to_hub_model_id", "NAME", "", kNoHub},
    {kAccepted, "--push_to_hub_organization", "NAME", "", kNoHub},
    {kAccepted, "--push_to_hub_token", "TEXT", "<PUSH_TO_HUB_TOKEN>", kNoHub},

    {kRefused, "--fp16", "", "false", "half precision overflows without loss scaling: use --bf16"},
    {kRefused, "--fp16_full_eval", "", "false", "half precision overflows: use --bf16_full_eval"},
    {kRefused, "--push_to_hub", "", "false", "nothing is sent anywhere: use --output_dir"},
    {kRefused, "--fsdp", "TEXT", "false|[]", kWholeModel},
    {kRefused, "--deepspeed", "FILE", "false", kWholeModel},
    {kRefused, "--parallelism_config", "JSON", "", kWholeModel},
    {kRefused, "--neftune_noise_alpha", "X", "0", "no noise is added to embeddings"},
    {kRefused, "--optim_target_modules", "NAME ...", "", "the optimizers here always update all layers"},
    {kRefused, "--ignore_data_skip", "", "false", "a resumed run goes on with the examples that come next"},
    {kRefused, "--train_sampling_strategy", "WORD", "random|group_by_length",
     "the order of examples is random, as --seed says, and --max_train_samples takes the first"},
    {kRefused, "--dataset_name", "NAME", "", kNoDownload},
    {kRefused, "--dataset_config_name", "NAME", "", kNoDownload},
    {kRefused, "--sharded_ddp", "TEXT", "false|[]", kWholeModel},
    {kRefused, "--adafactor", "", "false", "use --optim adafactor"},
    {kRefused, "--per_gpu_train_batch_size", "N", "", "use --per_device_train_batch_size"},
    {kRefused, "--per_gpu_eval_batch_size", "N", "", "use --per_device_eval_batch_size"},
};
// clang-format on

// Other services that transformers' --report_to accepts.
constexpr std::array<std::string_view, 13> kTrackers = {
    "azure_ml", "clearml", "codecarbon", "comet_ml", "dagshub", "dvclive", "flyte",
    "kubeflow", "mlflow",  "neptune",    "swanlab",  "trackio", "wandb"};

const StockOption* stock_option(std::string_view name) {
  const auto* found = std::find_if(std::begin(kStock), std::end(kStock),
                                   [&](const StockOption& stock) { return stock.name == name; });
  return found == std::end(kStock) ? nullptr : found;
}

bool is_one_of(std::string_view words, const std::string& value) {
  const std::vector<std::string> all = split(words, '|');
  return std::find(all.begin(), all.end(), value) != all.end();
}

// "--use_cpu=false": a flag with its value. Other values are left out: they may be secret.
std::string spoken(const Option& option, const std::string& value) {
  const bool flag = option.takes == Takes::kNothing;
  return fmt::format("{}{}{}", option.names.back(), flag && !value.empty() ? "=" : "",
                     flag ? value : "");
}

std::string accept_stock(S& settings, const std::string& value, const Option& option) {
  bool truth = false;
  std::string wrong = option.takes == Takes::kNothing ? read_flag(value, truth) : "";
  if (wrong.empty()) {
    settings.notices.push_back(
        fmt::format("{} has no effect here: {}", spoken(option, value), option.help));
  }
  return wrong;
}

// What to write in its place: whole options, to be pasted.
std::string stock_hint(const Option& option, const std::string& value) {
  const std::string name(option.names.back()), reason(option.help);
  const bool flag = option.takes == Takes::kNothing;
  const std::size_t use = reason.find("use --");
  if (reason == kNoDownload) return "--train_file FILE --validation_file FILE";
  if (name == "--push_to_hub" || (use == reason.npos && flag)) return name + " false";
  if (use == reason.npos) return "dttrain --help-all";
  const std::string other = reason.substr(use + std::strlen("use "));
  return flag ? other : other + " " + one_shell_word(value);  // of the same kind
}

// Without the words that the hint repeats.
std::string stock_reason(const Option& option, const std::string& hint) {
  const std::string reason(option.help);
  const std::size_t use = reason.find("use --");
  if (use == reason.npos ||
      !hint.starts_with(reason.substr(use + 4, reason.find(' ', use + 4) - use - 4))) {
    return reason;
  }
  return use == 0 ? "it has another name here" : reason.substr(0, use - 2);
}

std::string refuse_stock(S& settings, const std::string& value, const Option& option) {
  // A flag without a value, such as --fp16, means true.
  bool truth = true;
  std::string wrong = option.takes == Takes::kNothing ? read_flag(value, truth) : "";
  if (!wrong.empty()) return wrong;
  // Accept a value that disables the feature, such as --fp16 false: scripts may list defaults.
  const bool harmless = option.takes == Takes::kNothing ? !truth : is_usual(option, value);
  if (!harmless) {
    const std::string name(option.names.back()), hint = stock_hint(option, value);
    throw Error(Exit::kUsage, name, stock_reason(option, hint), hint);
  }
  settings.notices.push_back(
      fmt::format("{}={} has no effect here: it is so in any case", option.names.back(), value));
  return {};
}

Takes takes_of(const StockOption& stock) {
  if (stock.value.empty()) return Takes::kNothing;
  if (stock.value.ends_with(" ...")) return Takes::kWords;
  // These options work with and without a value.
  return stock.name == "--include_num_input_tokens_seen" ||
                 stock.name == "--trackio_static_space_id"
             ? Takes::kPerhapsValue
             : Takes::kValue;
}

}  // namespace

std::vector<OptionRow<S>> stock_option_rows() {
  std::vector<OptionRow<S>> rows;
  for (const StockOption& stock : kStock) {
    const bool refused = stock.answer == Answer::kRefused;
    rows.push_back({refused ? "Refused" : "Accepted, without effect",
                    {stock.name},
                    stock.value,
                    stock.reason,
                    {takes_of(stock), refused ? refuse_stock : accept_stock},
                    {.offered = false}});
  }
  return rows;
}

bool is_usual(const Option& option, std::string_view value) {
  const StockOption* stock = stock_option(option.names.back());
  return stock != nullptr && !value.empty() && is_one_of(stock->usual, std::string(value));
}

bool may_be_negated(std::string_view name) {
  const StockOption* stock = stock_option(name);
  return name == "--pad_to_max_length" || (stock != nullptr && stock->usual == "true");
}

std::string read_report_to(S& settings, const std::string& names, const Option& option) {
  settings.report_to = "none";
  for (const std::string& name : split(names, ',')) {
    if (std::find(kTrackers.begin(), kTrackers.end(), name) != kTrackers.end()) {
      settings.notices.push_back(
          fmt::format("{} {} has no effect here: {}", option.names.back(), name, kNoTracker));
    } else if (name == "all" || name == "tensorboard") {
      settings.report_to = "tensorboard";
    } else if (name != "none") {
      return fmt::format(
          "'{}' is not one of none, tensorboard, all and the services that "
          "transformers knows ({})",
          name, fmt::join(kTrackers, ", "));
    }
  }
  return {};
}

}  // namespace dtl::trainer
