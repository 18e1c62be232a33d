// The rows rest on the source of transformers and tokenizers, and on published models. Add a new
// key only when you know its effect on tokens and numbers.
#include "trainer/files/known_keys.h"

namespace dtl::trainer {
namespace {

using enum KeyUse;

constexpr const char* kDecoderModel = "it is a decoder; only encoders can be run";
constexpr const char* kOwnCode = "the model brings program code of its own, which is not run here";
constexpr const char* kQuantized = "its weights are stored in a form that cannot be trained here";

// One row per line is easier to read.
// clang-format off

constexpr KnownKey kOfAnyConfig[] = {
    {"model_type", kUsed},
    {"vocab_size", kUsed},
    {"max_position_embeddings", kUsed},
    {"initializer_range", kUsed},
    {"pad_token_id", kUsed},
    {"id2label", kUsed},
    {"label2id", kUsed},
    {"num_labels", kUsed},
    {"problem_type", kUsed},
    {"tokenizer_class", kUsed},
    {"dttrain_columns", kUsed},
    {"dttrain_loss", kUsed},
    // Who wrote the file, when and from which model.
    {"_name_or_path", kHarmless},
    {"name_or_path", kHarmless},
    {"_commit_hash", kHarmless},
    {"architectures", kHarmless},
    {"transformers_version", kHarmless},
    {"transformers.js_config", kHarmless},
    {"_diffusers_version", kHarmless},
    {"sentence_transformers", kHarmless},
    {"sbert_ce_default_activation_function", kHarmless},
    {"finetuning_task", kHarmless},
    {"task_specific_params", kHarmless},
    {"custom_pipelines", kHarmless},
    {"language", kHarmless},
    {"name", kHarmless},
    {"model_name", kHarmless},
    {"license", kHarmless},
    {"_num_labels", kHarmless},
    {"vocab_size_or_config_json_file", kHarmless},
    {"vocab_file", kHarmless},
    {"do_lower_case", kHarmless},
    {"model_max_length", kHarmless},
    {"max_seq_length", kHarmless},
    // How a program computes or which outputs it returns; neither changes results.
    {"dtype", kHarmless},
    {"torch_dtype", kHarmless},
    {"use_bfloat16", kHarmless},
    {"torchscript", kHarmless},
    {"xla_device", kHarmless},
    {"tf_legacy_loss", kHarmless},
    {"gradient_checkpointing", kHarmless},
    {"chunk_size_feed_forward", kHarmless},
    {"attn_implementation", kHarmless},
    {"_attn_implementation", kHarmless},
    {"_attn_implementation_internal", kHarmless},
    {"_attn_implementation_autoset", kHarmless},
    {"_flash_attn_2_enabled", kHarmless},
    {"_experts_implementation", kHarmless},
    {"output_attentions", kHarmless},
    {"_output_attentions", kHarmless},
    {"output_hidden_states", kHarmless},
    {"output_past", kHarmless},
    {"return_dict", kHarmless},
    {"use_return_dict", kHarmless},
    {"use_cache", kHarmless},
    {"tie_word_embeddings", kHarmless},
    {"tie_encoder_decoder", kHarmless},
    {"tie_weights_", kHarmless},
    // For programs that generate text, which encoders do not.
    {"bos_token_id", kHarmless},
    {"eos_token_id", kHarmless},
    {"eos_token_ids", kHarmless},
    {"sep_token_id", kHarmless},
    {"cls_token_id", kHarmless},
    {"mask_token_id", kHarmless},
    {"unk_token_id", kHarmless},
    {"decoder_start_token_id", kHarmless},
    {"prefix", kHarmless},
    {"assistant_confidence_threshold", kHarmless},
    {"assistant_lookbehind", kHarmless},
    {"bad_words_ids", kHarmless},
    {"begin_suppress_tokens", kHarmless},
    {"diversity_penalty", kHarmless},
    {"do_sample", kHarmless},
    {"early_stopping", kHarmless},
    {"encoder_no_repeat_ngram_size", kHarmless},
    {"encoder_repetition_penalty", kHarmless},
    {"epsilon_cutoff", kHarmless},
    {"eta_cutoff", kHarmless},
    {"exponential_decay_length_penalty", kHarmless},
    {"forced_bos_token_id", kHarmless},
    {"forced_eos_token_id", kHarmless},
    {"length_penalty", kHarmless},
    {"max_length", kHarmless},
    {"min_length", kHarmless},
    {"no_repeat_ngram_size", kHarmless},
    {"num_assistant_tokens", kHarmless},
    {"num_assistant_tokens_schedule", kHarmless},
    {"num_beam_groups", kHarmless},
    {"num_beams", kHarmless},
    {"num_return_sequences", kHarmless},
    {"output_scores", kHarmless},
    {"remove_invalid_values", kHarmless},
    {"repetition_penalty", kHarmless},
    {"return_dict_in_generate", kHarmless},
    {"suppress_tokens", kHarmless},
    {"target_lookbehind", kHarmless},
    {"temperature", kHarmless},
    {"top_k", kHarmless},
    {"top_p", kHarmless},
    {"typical_p", kHarmless},
    // Another kind of model.
    {"is_decoder", kOnly, "false", kDecoderModel},
    {"is_encoder_decoder", kOnly, "false", kDecoderModel},
    {"add_cross_attention", kOnly, "false", kDecoderModel},
    {"cross_attention_hidden_size", kOnly, "", kDecoderModel},
    {"pruned_heads", kOnly, "{}", "attention heads were taken out, which is not done here"},
    {"auto_map", kOnly, "{}", kOwnCode},
    {"quantization_config", kOnly, "{}", kQuantized},
    {"compression_config", kOnly, "{}", kQuantized},
    {"adapters", kOnly, "{} {\"adapters\":{},\"config_map\":{},\"fusion_config_map\":{},\"fusions\":{}}",
     "the model has adapters, which are not run here"},
    {"per_layer_config", kOnly, "{} []", "its layers are not all alike"},
};
constexpr KnownKey kOfTokenizerConfig[] = {
    {"tokenizer_class", kUsed},
    {"do_lower_case", kUsed},
    {"strip_accents", kUsed},
    {"tokenize_chinese_chars", kUsed},
    {"unk_token", kUsed},
    {"sep_token", kUsed},
    {"pad_token", kUsed},
    {"cls_token", kUsed},
    {"mask_token", kUsed},
    {"bos_token", kUsed},
    {"eos_token", kUsed},
    {"additional_special_tokens", kUsed},
    {"extra_special_tokens", kUsed},
    {"added_tokens_decoder", kUsed},
    {"model_max_length", kUsed},
    {"max_len", kUsed},
    {"truncation_side", kUsed},
    {"model_input_names", kUsed},
    {"add_prefix_space", kUsed},
    {"trim_offsets", kUsed},
    {"split_by_punct", kUsed},
    {"unk_id", kUsed},
    // Who wrote it, and how tokens become text again.
    {"name_or_path", kHarmless},
    {"_commit_hash", kHarmless},
    {"transformers_version", kHarmless},
    {"processor_class", kHarmless},
    {"model_type", kHarmless},
    {"vocab_size", kHarmless},
    {"special_tokens_map_file", kHarmless},
    {"tokenizer_file", kHarmless},
    {"vocab_file", kHarmless},
    {"added_tokens_file", kHarmless},
    {"full_tokenizer_file", kHarmless},
    {"files_loaded", kHarmless},
    {"backend", kHarmless},
    {"is_local", kHarmless},
    {"local_files_only", kHarmless},
    {"trust_remote_code", kHarmless},
    {"device_map", kHarmless},
    {"use_fast", kHarmless},
    {"verbose", kHarmless},
    {"clean_up_tokenization_spaces", kHarmless},
    {"clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output", kHarmless},
    {"chat_template", kHarmless},
    {"chat_control_tokens", kHarmless},
    {"response_template", kHarmless},
    {"response_schema", kHarmless},
    {"bos_token_id", kHarmless},  // the ids come from the vocabulary
    {"eos_token_id", kHarmless},
    {"unk_token_id", kHarmless},
    {"sep_token_id", kHarmless},
    {"pad_token_id", kHarmless},
    {"cls_token_id", kHarmless},
    {"mask_token_id", kHarmless},
    {"errors", kHarmless},
    // Of SentencePiece's library, which transformers no longer uses for these classes.
    {"sp_model_kwargs", kHarmless},
    {"vocab_type", kHarmless},
    // Lengths, which come from options here.
    {"max_length", kHarmless},
    {"stride", kHarmless},
    {"truncation_strategy", kHarmless},
    {"pad_to_multiple_of", kHarmless},
    {"pad_token_type_id", kHarmless},
    // These would change the tokens that BERT's rules give.
    {"padding_side", kOnly, "\"right\"", "padding before a text would move its positions"},
    {"split_special_tokens", kOnly, "false", "special tokens in a text are taken for themselves"},
    {"do_basic_tokenize", kOnly, "true", "words are split at blanks and punctuation before WordPiece"},
    {"never_split", kOnly, "[]", "words are split whatever they are"},
    {"clean_text", kOnly, "true", "BertTokenizer cleans texts in any case"},
    {"wordpieces_prefix", kOnly, "\"##\"", "BertTokenizer's pieces begin with ##"},
    {"add_bos_token", kOnly, "false", "a text is [CLS] text [SEP]"},
    {"add_eos_token", kOnly, "false", "a text is [CLS] text [SEP]"},
    {"init_inputs", kOnly, "[]", "BertTokenizer takes none"},
    {"fast_tokenizer_files", kOnly, "[] [\"tokenizer.json\"]", "tokenizer.json is what is read"},
    {"auto_map", kOnly, "{}", kOwnCode},
};
constexpr KnownKey kOfAddedToken[] = {
    {"content", kUsed},
    {"id", kUsed},
    {"single_word", kUsed},
    {"lstrip", kUsed},
    {"rstrip", kUsed},
    {"normalized", kUsed},
    {"special", kUsed},
    {"__type", kOnly, "\"AddedToken\"", "only an AddedToken can stand here"},
};
constexpr KnownKey kOfTokenizerJson[] = {
    {"version", kOnly, "\"1.0\"", "only version 1.0 of this format is known"},
    {"truncation", kUsed},
    {"padding", kUsed},
    {"added_tokens", kUsed},
    {"normalizer", kUsed},
    {"pre_tokenizer", kUsed},
    {"post_processor", kUsed},
    {"decoder", kUsed},
    {"model", kUsed},
};
constexpr KnownKey kOfTruncation[] = {
    {"direction", kUsed},
    {"max_length", kHarmless},  // comes from options here
    {"strategy", kHarmless},
    {"stride", kHarmless},
};
constexpr KnownKey kOfPadding[] = {
    {"direction", kOnly, "\"Right\"", "padding before a text would move its positions"},
    {"pad_token", kUsed},
    {"strategy", kHarmless},
    {"pad_to_multiple_of", kHarmless},
    {"pad_id", kHarmless},
    {"pad_type_id", kHarmless},
};
constexpr KnownKey kOfNormalizer[] = {
    {"type", kUsed},
    {"clean_text", kUsed},
    {"handle_chinese_chars", kUsed},
    {"strip_accents", kUsed},
    {"lowercase", kUsed},
};
constexpr KnownKey kOfPreTokenizer[] = {
    {"type", kUsed},
};
constexpr KnownKey kOfPostProcessor[] = {
    {"type", kUsed},
    {"single", kUsed},
    {"pair", kUsed},
    {"special_tokens", kHarmless},  // their ids; we take those of the vocabulary
    {"sep", kUsed},
    {"cls", kUsed},
    {"trim_offsets", kUsed},
    {"add_prefix_space", kUsed},
};
constexpr KnownKey kOfSequence[] = {
    {"type", kUsed},
    {"normalizers", kUsed},
    {"pretokenizers", kUsed},
    {"processors", kUsed},
};
constexpr KnownKey kOfByteLevel[] = {
    {"type", kUsed},
    {"add_prefix_space", kUsed},
    {"trim_offsets", kUsed},  // of a post_processor; a pre_tokenizer has no use for it
    {"use_regex", kUsed},
};
constexpr KnownKey kOfTextStep[] = {  // normalizers
    {"type", kUsed},
    {"strip_left", kUsed},
    {"strip_right", kUsed},
    {"pattern", kUsed},
    {"content", kUsed},
    {"prepend", kUsed},
    {"precompiled_charsmap", kUsed},
};
constexpr KnownKey kOfMetaspace[] = {
    {"type", kUsed},
    {"replacement", kUsed},
    {"prepend_scheme", kUsed},
    {"add_prefix_space", kUsed},
    {"split", kUsed},
    {"str_rep", kHarmless},  // the replacement again
};
constexpr KnownKey kOfPunctuation[] = {
    {"type", kUsed},
    {"behavior", kOnly, "\"Isolated\"", "marks are pieces of their own"},
};
constexpr KnownKey kOfUnigram[] = {
    {"type", kUsed},
    {"vocab", kUsed},
    {"unk_id", kUsed},
    {"byte_fallback", kUsed},
};
constexpr KnownKey kOfBpe[] = {
    {"type", kUsed},
    {"vocab", kUsed},
    {"merges", kUsed},
    {"unk_token", kUsed},
    {"fuse_unk", kUsed},
    {"byte_fallback", kUsed},
    {"ignore_merges", kUsed},
    {"dropout", kOnly, "0 0.0", "random merges would give other tokens in each epoch"},
    {"continuing_subword_prefix", kOnly, "\"\"", "tokens of BPE have no prefix here"},
    {"end_of_word_suffix", kOnly, "\"\"", "tokens of BPE have no suffix here"},
};
constexpr KnownKey kOfDecoder[] = {  // decoders turn tokens into text
    {"type", kHarmless},
    {"prefix", kHarmless},
    {"cleanup", kHarmless},
    {"decoders", kHarmless},
    {"add_prefix_space", kHarmless},
    {"trim_offsets", kHarmless},
    {"use_regex", kHarmless},
    {"replacement", kHarmless},
    {"prepend_scheme", kHarmless},
    {"split", kHarmless},
};
constexpr KnownKey kOfWordPiece[] = {
    {"type", kUsed},
    {"vocab", kUsed},
    {"unk_token", kUsed},
    {"continuing_subword_prefix", kUsed},
    {"max_input_chars_per_word", kUsed},
};
constexpr KnownKey kOfTensorIndex[] = {
    {"weight_map", kUsed},
    {"metadata", kHarmless},
};
// clang-format on

}  // namespace

namespace keys_of {
constinit const KnownKeys kAnyConfig = {kOfAnyConfig};
constinit const KnownKeys kTokenizerConfig = {kOfTokenizerConfig};
constinit const KnownKeys kAddedToken = {kOfAddedToken};
constinit const KnownKeys kTokenizerJson = {kOfTokenizerJson};
constinit const KnownKeys kTruncation = {kOfTruncation};
constinit const KnownKeys kPadding = {kOfPadding};
constinit const KnownKeys kNormalizer = {kOfNormalizer};
constinit const KnownKeys kPreTokenizer = {kOfPreTokenizer};
constinit const KnownKeys kPostProcessor = {kOfPostProcessor};
constinit const KnownKeys kSequence = {kOfSequence};
constinit const KnownKeys kByteLevel = {kOfByteLevel};
constinit const KnownKeys kTextStep = {kOfTextStep};
constinit const KnownKeys kBpe = {kOfBpe};
constinit const KnownKeys kMetaspace = {kOfMetaspace};
constinit const KnownKeys kPunctuation = {kOfPunctuation};
constinit const KnownKeys kUnigram = {kOfUnigram};
constinit const KnownKeys kDecoder = {kOfDecoder};
constinit const KnownKeys kWordPiece = {kOfWordPiece};
constinit const KnownKeys kTensorIndex = {kOfTensorIndex};
}  // namespace keys_of

const KnownKey* find_known_key(const KnownKeys& object, std::string_view name) {
  for (const KnownKeys* keys = &object; keys != nullptr; keys = keys->besides) {
    for (const KnownKey& key : keys->own) {
      if (name == key.name) return &key;
    }
  }
  return nullptr;
}

}  // namespace dtl::trainer
