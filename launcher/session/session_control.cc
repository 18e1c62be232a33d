// The mutex is held while a call is handed over, so the session and its io_context cannot end in
// between.
#include "launcher/session/session_control.h"

#include <utility>

#include "launcher/session/session_shell.h"

namespace dtl {

SessionControl::Attached::Attached(SessionControl* control, Post post) : control_(control) {
  if (control_ != nullptr) control_->attach(std::move(post));
}

SessionControl::Attached::~Attached() {
  if (control_ != nullptr) control_->attach({});
}

void SessionControl::attach(Post post) {
  const std::lock_guard lock(mutex_);
  post_ = std::move(post);
}

void SessionControl::say(std::string text) {
  const std::lock_guard lock(mutex_);
  if (post_) post_([text = std::move(text)](SessionShell& shell) { shell.say(text); });
}

void SessionControl::change_hosts() {
  const std::lock_guard lock(mutex_);
  if (post_) post_([](SessionShell& shell) { shell.feed(job::HostsChanged{}); });
}

bool SessionControl::host_goes(std::string host, std::string told_by) {
  const std::lock_guard lock(mutex_);
  if (!post_) return false;
  post_([host = std::move(host), told_by = std::move(told_by)](SessionShell& shell) {
    shell.host_goes(host, told_by);
  });
  // Handed over; the session may still end before it performs the call.
  return true;
}

}  // namespace dtl
