#pragma once
// NodeContainer: the container in which this node's ranks run, for --container. podman makes it,
// and its only program is the holder (holder.h); ranks are children of dtguard as ever, and only
// enter the container's user and mount namespaces. So signals, pins, pipes and limits are those of
// any rank. When this process ends, however that happens, the holder sees its link end and exits,
// and podman's conmon removes the container. Owned by the session; one io_context thread.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/container/holder.h"
#include "agent/container/podman_words.h"
#include "base/fd.h"
#include "wire/asio.h"
#include "wire/messages.h"
#include "wire/task_group.h"

namespace dtl {

class NodeContainer {
 public:
  // own_folder: dtagent's.
  NodeContainer(asio::io_context& context, TaskGroup& tasks, const std::string& own_folder);
  ~NodeContainer() { end(); }
  NodeContainer(const NodeContainer&) = delete;
  NodeContainer& operator=(const NodeContainer&) = delete;

  // Whether Examine asks for a container.
  static bool is_wanted(const Examine& question);
  // Looks for the image, and starts the container if the question says so. Then calls `done` with
  // the answer of plan/container.h. Once.
  void prepare(const Examine& question, const std::string& job_id,
               std::function<void(std::string answer)> done);

  bool runs() const { return link_.valid(); }
  // The environment of a rank: the image's, in which `environment` replaces what it names.
  std::vector<std::string_view> merged(const std::vector<std::string_view>& environment) const;
  // For a rank; invalid without a container. Throws Error(kOs).
  Fd user_namespace() const;
  Fd mount_namespace() const;

  // Ends the container and waits until podman has removed it, or for a few seconds.
  void end();

 private:
  awaitable<void> prepare_now(ContainerWish wish, bool start,
                              std::function<void(std::string answer)> done);
  awaitable<std::string> find_image(std::string image);
  awaitable<std::string> start(ContainerWish wish);

  asio::io_context& context_;
  TaskGroup& tasks_;
  const std::string& own_folder_;
  Fd link_;  // to the holder
  HeldContainer held_;
  bool used_podman_ = false;
};

}  // namespace dtl
