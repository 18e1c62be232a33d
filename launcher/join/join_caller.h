#pragma once
// JoinCaller: a node's side of a JoinRoom. It finds the room, proves that it knows the token,
// starts agents here as it is told to, and learns how the job has ended. It knows nothing of ranks:
// agents' bytes pass through unchanged. One thread; blocks the caller.

#include <chrono>
#include <string>

#include "launcher/join/join_words.h"

namespace dtl {

struct JoinCall {
  std::string token;
  std::string host;  // where the room is: a name that may not resolve yet
  int port = 0;
  JoinHello hello;
  std::string agent_path;
  // True: a job's agent is started before the room asks for one, and gets ready meanwhile. For
  // nodes that are sure to be asked soon. If the room asks for another kind of agent, or asks more
  // than 2 s later, that one is ended and a new one starts. False: each agent starts when asked
  // for.
  bool agent_at_once = false;
  std::chrono::seconds patience{0};  // until it belongs to the job
  // When the room is lost: true looks for it again, or for the one in its place, for `patience`
  // anew.
  bool comes_again = false;
  std::string look = "see whether the job's first node runs";  // where it is not found
};

// Returns the job's exit status, or one of its own: 128 + n when signal n came before this node
// belonged to the job, 137 when the room was lost and no other has come. Throws Error when the node
// never belongs to the job: kTimeout after `patience`, kAuth for another token, kConfig when it is
// not one of the job's nodes.
// SIGTERM, SIGINT and SIGHUP ask the room for the job's end; the second one ends this node's part.
int serve_joined_job(JoinCall call);

}  // namespace dtl
