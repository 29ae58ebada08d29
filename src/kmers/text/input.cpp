// input.cpp: reads from the system, and through the inflater.
#include "kmers/text/input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "holdfast/error.hpp"
#include "system/calls.hpp"

namespace holdfast::kmers {

namespace {

constexpr std::size_t kRawBytes = std::size_t{64} << 10;
constexpr int kMomentMs = 50;
constexpr std::uint8_t kGzip[] = {0x1F, 0x8B};

/// Adds the time that passes to a sum.
class Clock {
 public:
  explicit Clock(double& seconds) : seconds_(seconds) {}
  ~Clock() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  double& seconds_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

Input::Input(std::string name, const std::atomic<bool>* stopping) : name_(std::move(name)), stopping_(stopping) {
  if (name_ == "-") {
    name_ = "standard input";
    file_ = STDIN_FILENO;
  } else {
    file_ = system::open(name_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // of a FIFO, `wait` waits for the writer
    if (file_ < 0) throw InputError(name_ + " cannot be opened: " + std::strerror(errno) + "; check its name");
  }
  struct stat status {};
  regular_ = system::fstat(file_, status) == 0 && S_ISREG(status.st_mode);
  if (regular_) size_ = static_cast<std::uint64_t>(status.st_size);
}

Input::~Input() {
  if (file_ >= 0 && file_ != STDIN_FILENO) system::close(file_);
}

/// Until there is something to read, or the end, or an error.
void Input::wait() const {
  while (!regular_) {
    const int ready = system::poll(file_, kMomentMs);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return;
    if (stopping_ != nullptr && stopping_->load(std::memory_order_relaxed)) throw Stopped{};
  }
}

std::size_t Input::read_raw(std::uint8_t* to, std::size_t bytes) {
  const Clock clock(reading_);
  std::size_t size = 0;
  while (size < bytes && !at_end_) {
    wait();
    const ssize_t got = system::read(file_, to + size, bytes - size);
    if (got < 0) throw InputError(std::string("it cannot be read: ") + std::strerror(errno));
    at_end_ = got == 0;
    size += static_cast<std::size_t>(got);
  }
  taken_.fetch_add(size, std::memory_order_relaxed);
  return size;
}

void Input::detect() {
  raw_.resize(kRawBytes);
  raw_size_ = read_raw(raw_.data(), raw_.size());
  if (raw_size_ >= sizeof kGzip && std::equal(kGzip, kGzip + sizeof kGzip, raw_.data())) {
    inflater_ = std::make_unique<Inflater>();
  }
  detected_ = true;
}

std::size_t Input::read(char* to, std::size_t bytes) {
  given_ = 0;
  if (!detected_) detect();
  return inflater_ ? read_inflated(to, bytes) : read_plain(to, bytes);
}

std::size_t Input::read_plain(char* to, std::size_t bytes) {
  const std::size_t first = std::min(bytes, raw_size_ - raw_at_);
  std::memcpy(to, raw_.data() + raw_at_, first);
  raw_at_ += first;
  return first + read_raw(reinterpret_cast<std::uint8_t*>(to) + first, bytes - first);
}

std::size_t Input::read_inflated(char* to, std::size_t bytes) {
  std::size_t& size = given_;
  while (size < bytes) {
    if (raw_at_ == raw_size_ && !at_end_) {
      raw_at_ = 0;
      raw_size_ = read_raw(raw_.data(), raw_.size());
    }
    const Clock clock(inflating_);
    const Inflater::Step step = inflater_->step(raw_.data() + raw_at_, raw_size_ - raw_at_, to + size, bytes - size);
    raw_at_ += step.taken;
    size += step.given;
    if (step.taken != 0 || step.given != 0) continue;
    if (!at_end_) continue;  // more is read above
    if (!inflater_->between()) throw InputError("the gzip data end too early: the file was cut off, get it again");
    break;
  }
  return size;
}

}  // namespace holdfast::kmers
