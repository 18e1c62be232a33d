#pragma once
// BranchLink: a node's branch as the stream of its conversation: TLS between dtlaunch and the
// node's agent (branch_stream.h). Whatever goes wrong on it is a lost connection and never the
// agent's fault, since relays may drop or spoil what they pass on. One io_context thread.

#include <memory>
#include <string>
#include <vector>

#include "launcher/streams/agent_stream.h"
#include "wire/tls/tls_stream.h"
#include "wire/tree/branch_stream.h"

namespace dtl {

class BranchLink final : public AgentStream {
 public:
  // The carrier is shared with the owner of all branches, who feeds it.
  BranchLink(std::shared_ptr<BranchStream> carrier, const std::string& branch_key);

  // Once, before all else. Throws Error if the other end does not prove that it knows the key.
  awaitable<void> shake_hands() { return stream_.shake_hands(); }

  awaitable<std::string> read() override;
  awaitable<void> write_pieces(std::vector<std::string> pieces) override;
  void close() override { stream_.close(); }
  std::string standard_error() const override { return {}; }
  std::string ending() const override;

 private:
  const std::shared_ptr<BranchStream> carrier_;
  TlsStream stream_;
  bool spoilt_ = false;
};

}  // namespace dtl
