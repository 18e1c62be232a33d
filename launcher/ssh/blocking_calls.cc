// run() makes a task, a worker runs it, and the context's thread ends it. Only the queue is shared,
// under its mutex.
#include "launcher/ssh/blocking_calls.h"

#include <stdlib.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace dtl {
namespace {

constexpr std::size_t kMaxWorkers = 16;   // resolves names in parallel; a dead server takes 10 s
constexpr std::chrono::seconds kIdle{5};  // an idle worker ends after this

// One call to run(), shared by the coroutine that waits and the worker that works.
struct Task {
  Task(asio::io_context& owner, std::function<void()> to_do,
       std::chrono::steady_clock::time_point deadline)
      : context(owner), work(std::move(to_do)), done(owner, deadline) {}
  asio::io_context& context;  // the worker uses it only while the queue says that it exists
  std::function<void()> work;
  asio::steady_timer done;  // cancelled on the context's thread when the work is done
  std::exception_ptr failure;
  bool finished = false;
};

// A worker that is still busy uses libraries whose tables exit() frees, OpenSSL's among them: it
// crashed the program after its last word. exit() then ends the process at once.
void leave_at_exit(int status, void* /*nothing*/) {
  std::fflush(nullptr);
  ::_exit(status);
}

}  // namespace

// Owned by the service and by each worker; the last owner destroys it.
struct BlockingCalls::Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Task>> waiting;
  std::size_t threads = 0;
  std::size_t idle = 0;
  bool context_alive = true;

  void push(std::shared_ptr<Task> task, const std::shared_ptr<Queue>& self) {
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(task));
    // Takes an idle worker or, at the limit, the next one that becomes idle.
    if (idle >= waiting.size() || threads >= kMaxWorkers) {
      changed.notify_one();
      return;
    }
    ++threads;
    // Detached: joining would wait for getaddrinfo.
    std::thread([self] { self->work(); }).detach();
  }

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      ++idle;
      const bool woken =
          changed.wait_for(lock, kIdle, [this] { return !waiting.empty() || !context_alive; });
      --idle;
      // shutdown() has cleared the queue.
      if (!woken || !context_alive) break;
      std::shared_ptr<Task> task = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      std::exception_ptr failure = attempt(*task);
      lock.lock();
      if (context_alive) {
        hand_back(std::move(task),
                  std::move(failure));  // the exception moves to the other thread
      } else {
        // The work may own objects of the context (a session's socket and timers), which can no
        // longer be destroyed. Leak them: the program is ending.
        new std::shared_ptr<Task>(std::move(task));
      }
    }
    --threads;
  }

  static std::exception_ptr attempt(Task& task) {
    try {           // the root of a thread
      task.work();  // destroyed with the task, on the context's thread
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  static void hand_back(std::shared_ptr<Task> task, std::exception_ptr failure) {
    asio::io_context& context = task->context;
    // Under the lock, so the context still exists. Its thread destroys the work.
    asio::post(context, [task = std::move(task), failure = std::move(failure)] {
      task->failure = failure;
      task->finished = true;
      task->done.cancel();
    });
  }
};

asio::execution_context::id BlockingCalls::id;

BlockingCalls::BlockingCalls(asio::execution_context& context)
    : asio::execution_context::service(context), queue_(std::make_shared<Queue>()) {}

BlockingCalls::~BlockingCalls() = default;

void BlockingCalls::shutdown() {
  const std::lock_guard lock(queue_->mutex);
  if (queue_->threads > queue_->idle) ::on_exit(leave_at_exit, nullptr);
  queue_->context_alive = false;
  queue_->waiting.clear();
  queue_->changed.notify_all();
}

awaitable<bool> BlockingCalls::run(std::function<void()> work,
                                   std::chrono::steady_clock::time_point deadline) {
  auto task =
      std::make_shared<Task>(static_cast<asio::io_context&>(context()), std::move(work), deadline);
  queue_->push(task, queue_);
  boost::system::error_code woken;
  // The handler that ends the task runs on this thread, so it cannot run between this check and the
  // wait.
  if (!task->finished) {
    co_await task->done.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  if (task->failure) std::rethrow_exception(task->failure);
  co_return task->finished;
}

BlockingCalls& workers_of(asio::io_context& context) {
  return asio::use_service<BlockingCalls>(context);
}

}  // namespace dtl
