#include "agent/pmix/pmix_service.h"

#include <unistd.h>

#include <utility>

#include "base/error.h"
#include "wire/fd_stream.h"
#include "wire/task_group.h"

namespace dtl::pmix {
namespace {

// A few parts of a fence: the rest waits in the outbox, whose content Collectives bounds.
constexpr std::size_t kMostQueued = 2 << 20;

constexpr unsigned kEndSeconds = 5;  // libpmix needs milliseconds to end; it must not keep us

}  // namespace

PmixService::PmixService(Fd link, std::string folder)
    : folder_(std::move(folder)),
      connection_(context_, make_fd_stream(context_, std::move(link)), {}),
      wake_(context_, asio::steady_timer::time_point::max()) {}

bool PmixService::run() {
  run_tasks(context_, [this](TaskGroup& tasks) {
    tasks.spawn(serve());
    tasks.spawn(write_outbox());
    tasks.spawn(write_queue());
  });
  ::alarm(kEndSeconds);
  library_.reset();
  return !failed_;
}

awaitable<void> PmixService::serve() {
  std::optional<Error> failure;
  try {
    co_await serve_messages();
  } catch (const Error& error) {
    if (error.status() != Exit::kIo) failure = error;  // else the agent is gone
  }
  failed_ = failure.has_value();
  if (failure) {
    put(Message(Trouble{std::string("dtpmix: ") + failure->what()}));
  } else {
    connection_.close();  // nobody reads any more
    outbox_.clear();
  }
  over_ = true;
  wake_.cancel();
}

awaitable<void> PmixService::write_queue() {
  try {
    co_await connection_.run_writer();
  } catch (const Error&) {
    connection_.close();  // the agent is gone, as the reader will see
  }
}

awaitable<void> PmixService::serve_messages() {
  for (;;) {
    std::optional<Message> message = co_await connection_.receive();
    if (!message) co_return;
    if (const auto* job = std::get_if<ServePmix>(&*message); job != nullptr && !state_) {
      start(*job);
    } else if (state_) {
      perform(state_->received(std::move(*message)));
    }
  }
}

void PmixService::start(const ServePmix& job) {
  state_.emplace(job);
  library_.emplace(folder_, state_->places(), [this](Upcall upcall) {
    asio::post(context_, [this, upcall = std::move(upcall)]() mutable {
      if (library_) perform(state_->happened(std::move(upcall)));
    });
  });
  for (const std::uint32_t rank : state_->places().here()) {
    put(Message(PmixReady{rank, library_->variables_of(rank)}));
  }
}

void PmixService::perform(std::vector<Effect> effects) {
  for (Effect& effect : effects) {
    const Overloaded carry_out{
        [&](Send& send) { put(std::move(send.message)); },
        [&](EndCollective& end) { library_->answer(std::move(end)); },
        [&](EndQuestion& end) { library_->answer(std::move(end)); },
        [&](const AskRank& question) { library_->ask(question); },
        [&](const Acknowledge& one) { put(one); },
        [&](const Deregister& one) { library_->deregister(one.rank); },
    };
    std::visit(carry_out, effect);
  }
}

void PmixService::put(std::variant<Message, Acknowledge> entry) {
  outbox_.push_back(std::move(entry));
  wake_.cancel();
}

awaitable<void> PmixService::write_outbox() {
  while (!over_ || !outbox_.empty()) {
    if (outbox_.empty()) {
      boost::system::error_code woken;
      co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      continue;
    }
    auto entry = std::move(outbox_.front());
    outbox_.pop_front();
    if (auto* message = std::get_if<Message>(&entry)) {
      co_await connection_.wait_below(kMostQueued);
      connection_.send(std::move(*message));
    } else {
      co_await connection_.wait_below(1);
      if (library_) library_->acknowledge(std::get<Acknowledge>(entry).id);
    }
  }
  connection_.finish();
}

}  // namespace dtl::pmix
