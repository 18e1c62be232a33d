// An interpreter for a small part of pickle's machine. Safety depends on is_allowed(): any other
// name ends the reading, and allowed names are only described, never called. Values refer to each
// other by index, so freeing a pickle that contains itself is safe.
#include "trainer/files/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace dtl::trainer {
namespace {

using Kind = Pickle::Kind;
using Ref = Pickle::Ref;
using Value = Pickle::Value;

constexpr const char* kOrderedDict = "collections.OrderedDict";
constexpr const char* kRebuildTensor = "torch._utils._rebuild_tensor_v2";
constexpr const char* kRebuildParameter = "torch._utils._rebuild_parameter";
// torch_file.cc maps the same names to element types.
constexpr const char* kStorages[] = {
    "torch.FloatStorage", "torch.HalfStorage", "torch.BFloat16Storage", "torch.DoubleStorage",
    "torch.LongStorage",  "torch.IntStorage",  "torch.ShortStorage",    "torch.CharStorage",
    "torch.ByteStorage",  "torch.BoolStorage"};

bool is_allowed(const std::string& name) {
  return name == kOrderedDict || name == kRebuildTensor || name == kRebuildParameter ||
         std::find(std::begin(kStorages), std::end(kStorages), name) != std::end(kStorages);
}

}  // namespace

class PickleMachine {
 public:
  PickleMachine(Pickle& pickle, const TensorInput& file, std::string_view bytes, std::size_t& at)
      : pickle_(pickle), file_(file), bytes_(bytes), at_(at) {}

  // Each opcode is one byte and its operands; STOP ends the machine.
  void run() {
    while (step(static_cast<unsigned char>(take(1).front()))) {
    }
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    file_.fail(fmt::format("its pickle, byte {}: {}", at_, reason));
  }

  // ---- the bytes
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_) fail("it is cut short");
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) fail("it is cut short");
    std::string text(bytes_.substr(at_, end - at_));
    at_ = end + 1;
    return text;
  }

  // ---- values and the stack
  // Valid until the next push(), which may move all values.
  Value& value(Ref ref) { return pickle_.values_[ref]; }
  void push(Value value) {
    pickle_.values_.push_back(std::move(value));
    stack_.push_back(static_cast<Ref>(pickle_.values_.size() - 1));
  }
  // Values below the last mark are not accessible.
  void need(std::size_t count) const {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - floor < count) fail("it takes more values than there are");
  }
  Ref top() {
    need(1);
    return stack_.back();
  }
  Ref pop() {
    const Ref ref = top();
    stack_.pop_back();
    return ref;
  }
  std::vector<Ref> pop_last(std::size_t count) {
    need(count);
    const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<Ref> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    return items;
  }
  // A mark stores the height of the stack at '('. Values above it are the items.
  std::vector<Ref> pop_to_mark() {
    if (marks_.empty()) fail("it lacks a mark");
    std::vector<Ref> items = pop_last(stack_.size() - marks_.back());
    marks_.pop_back();
    return items;
  }
  void push_text(Kind kind, std::uint64_t count) { push({kind, 0, std::string(take(count))}); }
  void push_integer(std::int64_t integer) { push({Kind::kInteger, integer}); }
  // Pushes the same value, not a copy, as Python does.
  void push_memo(std::uint32_t key) {
    const auto it = memo_.find(key);
    if (it == memo_.end()) fail("it recalls what it did not memorise");
    stack_.push_back(it->second);
  }
  void push_long() {
    const auto bytes = number<std::uint8_t>();
    // The magic number of old files has ten bytes.
    if (bytes > 8) return push_text(Kind::kBytes, bytes);
    const std::string_view digits = take(bytes);
    const bool negative = !digits.empty() && (digits.back() & 0x80) != 0;
    // Two's complement, little-endian: sign-extend the missing bytes.
    std::int64_t integer = negative ? -1 : 0;
    std::memcpy(&integer, digits.data(), digits.size());
    push_integer(integer);
  }

  // ---- what touches names
  void push_name(const std::string& module, const std::string& name) {
    const std::string full = module + "." + name;
    if (!is_allowed(full)) refuse(full);
    push({Kind::kName, 0, full});
  }
  [[noreturn]] void refuse(const std::string& name) const {
    file_.fail(
        fmt::format("refuses to run '{}', which its pickle asks for: a file of weights needs "
                    "nothing but tensors",
                    name.substr(0, 200)));
  }
  void push_stack_name() {
    const Ref name = pop(), module = pop();
    if (value(name).kind != Kind::kText || value(module).kind != Kind::kText) {
      fail("a name is not text");
    }
    push_name(value(module).text, value(name).text);
  }
  void reduce() {
    const Ref arguments = pop(), callable = pop();
    if (value(callable).kind != Kind::kName || value(arguments).kind != Kind::kTuple) {
      fail("it calls what is not a name, or without a tuple");
    }
    const std::string& name = value(callable).text;
    const std::vector<Ref>& given = value(arguments).items;
    if (name == kOrderedDict && given.empty()) return push({Kind::kDict});
    // Storage, offset, sizes, strides. The later arguments (requires_grad, hooks) do not affect the
    // values.
    if (name == kRebuildTensor && given.size() >= 4) {
      return push({Kind::kTensor, 0, {}, {given.begin(), given.begin() + 4}});
    }
    // A parameter is its tensor; ignore requires_grad and hooks.
    if (name == kRebuildParameter && !given.empty()) return stack_.push_back(given.front());
    fail(fmt::format("it calls {} with {} arguments", name, given.size()));
  }
  // torch.save writes storages as persistent ids, which are tuples.
  void push_storage() {
    const Value& id = value(pop());
    const bool good =
        // Old files have a sixth item for views of storages, which torch writes as None.
        id.kind == Kind::kTuple && id.items.size() >= 5 && id.items.size() <= 6 &&
        value(id.items[0]).text == "storage" && value(id.items[1]).kind == Kind::kName &&
        value(id.items[2]).kind == Kind::kText && value(id.items[4]).kind == Kind::kInteger &&
        (id.items.size() == 5 || value(id.items[5]).kind == Kind::kNone);
    if (!good) fail("a storage is described in another way than torch.save does");
    push({Kind::kStorage, 0, {}, id.items});
    pickle_.storages_.push_back(stack_.back());
  }
  // Sets the state of an object: the attributes of an OrderedDict (_metadata), which we ignore.
  void build() {
    pop();
    if (value(top()).kind != Kind::kDict) fail("it sets attributes of something else than a dict");
  }

  void add_items(Kind kind, std::vector<Ref> items) {
    Value& to = value(top());
    if (to.kind != kind) fail("it adds items to something else than a list or dict");
    if (kind == Kind::kDict && items.size() % 2 != 0) fail("a key has no value");
    to.items.insert(to.items.end(), items.begin(), items.end());
  }

  // Returns false at STOP.
  bool step(unsigned char opcode) {
    switch (opcode) {
      case 0x80:  // PROTO
        if (number<std::uint8_t>() > 5) fail("it is of an unknown protocol");
        break;
      // The frame's length only helps readers that buffer.
      case 0x95:  // FRAME
        take(8);
        break;
      case '.':  // STOP
        pickle_.root_ = pop();
        return false;
      default:
        if (!push_plain(opcode) && !combine(opcode) && !use_names(opcode) && !use_memo(opcode)) {
          fail(fmt::format("opcode 0x{:02x} has no place in a state dict", opcode));
        }
    }
    return true;
  }

  // Comma expressions: each case does one thing and returns true.
  bool push_plain(unsigned char opcode) {
    switch (opcode) {
      case 'N':
        return push({Kind::kNone}), true;
      case 0x88:  // NEWTRUE
      case 0x89:  // NEWFALSE
        return push({Kind::kBool, opcode == 0x88}), true;
      case 'J':  // BININT
        return push_integer(number<std::int32_t>()), true;
      case 'K':  // BININT1
        return push_integer(number<std::uint8_t>()), true;
      case 'M':  // BININT2
        return push_integer(number<std::uint16_t>()), true;
      case 0x8A:  // LONG1
        return push_long(), true;
      case 'G':  // BINFLOAT
        take(8);
        return push({Kind::kReal}), true;
      case 'X':  // BINUNICODE
        return push_text(Kind::kText, number<std::uint32_t>()), true;
      case 0x8C:  // SHORT_BINUNICODE
      case 'U':   // SHORT_BINSTRING: text of Python 2
        return push_text(Kind::kText, number<std::uint8_t>()), true;
      case 'C':  // SHORT_BINBYTES
        return push_text(Kind::kBytes, number<std::uint8_t>()), true;
      case '}':
        return push({Kind::kDict}), true;
      case ']':
        return push({Kind::kList}), true;
      case ')':
        return push({Kind::kTuple}), true;
      default:
        return false;
    }
  }

  bool combine(unsigned char opcode) {
    switch (opcode) {
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case 't':
        return push({Kind::kTuple, 0, {}, pop_to_mark()}), true;
      case 0x85:  // TUPLE1, 2, 3
      case 0x86:
      case 0x87:
        return push({Kind::kTuple, 0, {}, pop_last(opcode - 0x84U)}), true;
      case 'a':
        return add_items(Kind::kList, pop_last(1)), true;
      case 'e':
        return add_items(Kind::kList, pop_to_mark()), true;
      case 's':
        return add_items(Kind::kDict, pop_last(2)), true;
      case 'u':
        return add_items(Kind::kDict, pop_to_mark()), true;
      default:
        return false;
    }
  }

  bool use_names(unsigned char opcode) {
    switch (opcode) {
      case 'c':    // GLOBAL
      case 'i': {  // INST: never allowed, but the message names it
        const std::string module = line(), name = line();
        if (opcode == 'i') refuse(module + "." + name);
        return push_name(module, name), true;
      }
      case 0x93:  // STACK_GLOBAL
        return push_stack_name(), true;
      case 'R':
        return reduce(), true;
      case 'Q':  // BINPERSID
        return push_storage(), true;
      case 'b':
        return build(), true;
      default:
        return false;
    }
  }

  bool use_memo(unsigned char opcode) {
    switch (opcode) {
      case 'q':  // BINPUT
        memo_[number<std::uint8_t>()] = top();
        return true;
      case 'r':  // LONG_BINPUT
        memo_[number<std::uint32_t>()] = top();
        return true;
      case 0x94:  // MEMOIZE
        memo_[static_cast<std::uint32_t>(memo_.size())] = top();
        return true;
      case 'h':  // BINGET
        return push_memo(number<std::uint8_t>()), true;
      case 'j':  // LONG_BINGET
        return push_memo(number<std::uint32_t>()), true;
      default:
        return false;
    }
  }

  Pickle& pickle_;
  const TensorInput& file_;
  std::string_view bytes_;
  std::size_t& at_;
  std::vector<Ref> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::unordered_map<std::uint32_t, Ref> memo_;
};

Pickle::Pickle(const TensorInput& file, std::string_view bytes, std::size_t& at) {
  PickleMachine(*this, file, bytes, at).run();
}

}  // namespace dtl::trainer
