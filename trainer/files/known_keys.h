#pragma once
// Tables of the keys that JSON files of a model folder may have: keys that dttrain uses, and keys
// without effect. Other keys are unknown. Keys of config.json that only one family of encoders has
// are in that family's file (model_family.h).

#include <span>
#include <string_view>

namespace dtl::trainer {

enum class KeyUse {
  kUsed,      // its reader checks the value
  kHarmless,  // has no effect with any value
  kOnly,      // has no effect with the values in this row; others are refused
};

struct KnownKey {
  const char* name;
  KeyUse use;
  const char* values = "";  // for kOnly: JSON without blanks, separated by ' '
  const char* reason = "";  // why other values are refused
};

// The keys of one kind of object: its own keys and its parent's.
struct KnownKeys {
  std::span<const KnownKey> own;
  const KnownKeys* besides = nullptr;
};

namespace keys_of {
extern const KnownKeys kAnyConfig;        // config.json of every family
extern const KnownKeys kTokenizerConfig;  // tokenizer_config.json; and special_tokens_map.json,
                                          // which overrides it
extern const KnownKeys kAddedToken;       // {"content": "[CLS]", ..}, anywhere
extern const KnownKeys kTokenizerJson;    // tokenizer.json, and the objects in it:
extern const KnownKeys kTruncation, kPadding, kNormalizer, kPreTokenizer, kPostProcessor, kDecoder,
    kWordPiece, kSequence, kByteLevel, kTextStep, kBpe, kMetaspace, kPunctuation, kUnigram;
extern const KnownKeys kTensorIndex;  // model.safetensors.index.json, pytorch_model.bin.index.json
}  // namespace keys_of

// Null for an unknown key.
const KnownKey* find_known_key(const KnownKeys& object, std::string_view name);

}  // namespace dtl::trainer
