#pragma once
// JoinCaller: a node's side of a JoinRoom. Finds the room, proves that it knows the token, starts
// agents here on request, and learns how the job has ended. It knows nothing about ranks: agents'
// bytes pass through unchanged. One thread; blocks the caller.

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
  // True: starts a job's agent before the room asks for one, so that it gets ready meanwhile. For
  // nodes whose agent is wanted soon. If the room asks for another kind of agent, or asks more than
  // 2 s later, that agent ends and a new one starts. False: starts each agent when asked.
  bool agent_at_once = false;
  std::chrono::seconds patience{0};  // how long to try to join the job
  // If the room is lost: true looks for it or its successor, for `patience` again.
  bool comes_again = false;
  std::string look = "see whether the job's first node runs";  // the hint if the room is not found
};

// Returns the job's exit status, or its own: 128 + n if signal n arrived before this node joined
// the job, 137 if the room was lost and no other took its place. Throws Error if the node cannot
// join the job: kTimeout after `patience`, kAuth for another token, kConfig if it is not one of the
// job's nodes. SIGTERM, SIGINT and SIGHUP ask the room to end the job; the second one ends this
// node's part.
int serve_joined_job(JoinCall call);

}  // namespace dtl
