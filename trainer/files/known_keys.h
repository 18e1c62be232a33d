#pragma once
// The table of the keys that the JSON files of a model folder may have: which of them count, and
// which change nothing. A key that is not in it is not known.

#include <string_view>

namespace dtl::trainer {

// Objects of these files.
enum class KeysOf {
  kAnyConfig,         // config.json of every type
  kBertConfig,        // config.json, with the keys above
  kDistilBertConfig,  // the same
  kTokenizerConfig,   // tokenizer_config.json; and special_tokens_map.json, which is laid over it
  kAddedToken,        // {"content": "[CLS]", ..}, wherever one stands
  kTokenizerJson,     // tokenizer.json, and the objects in it
  kTruncation,
  kPadding,
  kNormalizer,
  kPreTokenizer,
  kPostProcessor,
  kDecoder,
  kWordPiece,
  kTensorIndex,  // model.safetensors.index.json, pytorch_model.bin.index.json
};

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

// Null for one that is not known.
const KnownKey* find_known_key(KeysOf object, std::string_view name);

}  // namespace dtl::trainer
