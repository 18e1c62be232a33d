#pragma once
// --container: what launcher and agents agree on about the container that a node's ranks run in,
// and what an agent's answer means for the job. agent/container starts the containers. Pure.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

// How long podman may take on a node: large images on slow disks, whose files it may have to copy.
constexpr std::chrono::seconds kContainerPatience{60};

// Parameters of Examine, and the fact in the answer.
constexpr std::string_view kContainerFact = "container";           // the image; the answer
constexpr std::string_view kContainerFolder = "container.folder";  // the ranks see it; repeated
constexpr std::string_view kContainerStart = "container.start";    // else only look for the image

// The first word of an answer; then a blank and podman's own words. Empty: all is well.
constexpr std::string_view kNoPodman = "no-podman";
constexpr std::string_view kNoImage = "no-image";
constexpr std::string_view kContainerFailed = "failed";

// The name of an image as podman takes it. Throws Error(kUsage).
std::string parse_image(std::string_view text);

// The working folders of the job's programs, each once: ranks see them under the same names. Throws
// Error(kUsage) for /, which would hide the image's files.
std::vector<std::string> container_folders(const Request& request);

struct ContainerAnswer {
  Host host;
  bool told = false;  // an agent of another version does not know the question
  std::string text;
};
// Throws Error(kConfig) for the first node that cannot run the container, kVersion if its agent
// does not know how.
void judge_container(const std::string& image, const std::vector<ContainerAnswer>& answers);

}  // namespace dtl
