// helper_thread.cpp: two threads, of which one works and the other reports.
#include "table/helper_thread.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "holdfast/error.hpp"

namespace holdfast::table {

namespace {

struct Done {
  std::uint64_t done, total;
};

/// What the two share.
class Report {
 public:
  /// Of the thread that works. It never waits.
  bool note(std::uint64_t done, std::uint64_t total) {
    const std::lock_guard lock(mutex_);
    progress_ = {done, total};
    changed_.notify_one();
    return !stop_;
  }
  void end(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    ended_ = true;
    changed_.notify_one();
  }

  /// Of the thread that asks: waits for news; none when the work has ended, and all has been given.
  std::optional<Done> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return progress_ || ended_; });
    return std::exchange(progress_, {});
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  const std::exception_ptr& error() const { return error_; }  ///< when the work has ended

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Done> progress_;
  bool stop_ = false, ended_ = false;
  std::exception_ptr error_;
};

bool ask_until_it_ends(Report& report, const Progress& ask) {
  bool begun = false;
  while (const std::optional<Done> done = report.next()) {
    if (!begun && done->done != 0 && !ask(0, done->total)) return false;
    begun = true;
    if (!ask(done->done, done->total)) return false;
  }
  return true;
}

std::thread start(const std::function<void()>& work) {
  try {
    return std::thread(work);
  } catch (const std::system_error& error) {
    throw SystemError(std::string("no thread can be started: ") + error.what() +
                      "; raise the limit of threads (ulimit -u), or end some");
  }
}

}  // namespace

bool run_on_helper_thread(const std::function<void(const Progress&)>& work, const Progress& ask) {
  Report report;
  std::thread thread = start([&] {
    try {
      work([&](std::uint64_t done, std::uint64_t total) { return report.note(done, total); });
      report.end(nullptr);
    } catch (...) {
      report.end(std::current_exception());
    }
  });
  bool wanted = false;
  try {
    wanted = ask_until_it_ends(report, ask);
  } catch (...) {
    report.stop();
    thread.join();
    throw;
  }
  if (!wanted) report.stop();
  thread.join();
  if (report.error()) std::rethrow_exception(report.error());
  return wanted;
}

}  // namespace holdfast::table
