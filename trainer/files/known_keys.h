#pragma once
// The tables of the keys that the JSON files of a model folder may have: which of them count, and
// which change nothing. A key that is not in one is not known. Those of config.json that only one
// family of encoders has are with that family (model_family.h).

#include <span>
#include <string_view>

namespace dtl::trainer {

enum class KeyUse {
  kUsed,      // its reader checks the value
  kHarmless,  // whatever the value is
  kOnly,      // harmless with the values of the row, refused with others
};

struct KnownKey {
  const char* name;
  KeyUse use;
  const char* values = "";  // of kOnly: JSON without blanks, with ' ' between them
  const char* reason = "";  // why other values are refused
};

// The keys of an object: its own, and those of what it is a kind of.
struct KnownKeys {
  std::span<const KnownKey> own;
  const KnownKeys* besides = nullptr;
};

namespace keys_of {
extern const KnownKeys kAnyConfig;        // config.json of every family
extern const KnownKeys kTokenizerConfig;  // tokenizer_config.json; and special_tokens_map.json,
                                          // which is laid over it
extern const KnownKeys kAddedToken;       // {"content": "[CLS]", ..}, in any place
extern const KnownKeys kTokenizerJson;    // tokenizer.json, and the objects in it:
extern const KnownKeys kTruncation, kPadding, kNormalizer, kPreTokenizer, kPostProcessor, kDecoder,
    kWordPiece;
extern const KnownKeys kTensorIndex;  // model.safetensors.index.json, pytorch_model.bin.index.json
}  // namespace keys_of

// Null for one that is not known.
const KnownKey* find_known_key(const KnownKeys& object, std::string_view name);

}  // namespace dtl::trainer
