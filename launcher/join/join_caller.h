#pragma once
// JoinCaller: a node's side of a JoinRoom: finds it, proves that it knows the token, starts agents
// here as it is told to, and learns how the job has ended. One thread, blocking from the outside.

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
  // A job's agent is started before the room asks for one, and gets ready meanwhile: for nodes that
  // are sure to be asked soon. Without it, where the room wants another, or wants it 2 s later,
  // each starts when asked.
  bool agent_at_once = false;
  std::chrono::seconds patience{0};  // until it belongs to the job
  // When the room is lost: looks for it again, or for the one that comes in its place, for as long.
  bool comes_again = false;
  std::string look = "see whether the job's first node runs";  // where it is not found
};

// The job's exit status, or this process's own: 143 (128 + n) when signal n came before it belonged
// to the job, 137 when the room was lost and no other has come. Throws Error when it does not come
// to belong to it: kTimeout after `patience`, kAuth for another token, kConfig for a job that it is
// no node of.
// SIGTERM, SIGINT and SIGHUP ask the room for the job's end; the second one ends this node's part.
int serve_joined_job(JoinCall call);

}  // namespace dtl
