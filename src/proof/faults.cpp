// faults.cpp: one run a fault, and what must hold after each.
#include "proof/faults.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>

#include "holdfast/error.hpp"
#include "proof/images.hpp"
#include "proof/parts.hpp"
#include "proof/recorder.hpp"

namespace holdfast::proof {

namespace {

constexpr Bounds kAfterwards = {.all = 8, .singles = false, .samples = 6};
constexpr Bounds kLittleAfterwards = {.all = 2, .singles = false, .samples = 1};

/// Transient errors. An interrupt must not be reported.
bool passes(int error) { return error == EINTR || error == EWOULDBLOCK; }

/// Temporary names and locks that are still there.
std::string remains(const std::string& folder, bool names_too) {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path();
    if (names_too && path.find(".tmp-") != std::string::npos) text += " the name " + entry.path().filename().string();
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) text += " a lock on " + entry.path().filename().string();
    close(fd);
  }
  return text;
}

class Faults {
 public:
  Faults(Subject& subject, const std::string& root, bool on_disk, Errors errors)
      : subject_(subject),
        run_(root + "/run"),
        left_(root + "/left"),
        on_disk_(on_disk),
        all_errors_(errors == Errors::all ? tries_all() : is_long()) {}

  Counts go() {
    std::filesystem::create_directory(run_);
    std::filesystem::create_directory(left_);
    const std::vector<Recorder::Made> calls = run({});
    counts_.calls = calls.size();
    for (std::size_t at = 0; at < calls.size(); ++at) {
      for (const Fault& fault : faults_of(calls[at], at)) {
        if (counts_.wrong.size() >= kMostWrong) continue;
        where_ = "call " + std::to_string(at) + " (" + calls[at].what + ") " +
                 (fault.lasting ? "and all later ones " : "") +
                 (fault.part ? "of half its bytes" : "fails: " + std::string(strerrorname_np(fault.error)));
        run(fault);
      }
    }
    return counts_;
  }

 private:
  std::vector<Fault> faults_of(const Recorder::Made& made, std::size_t at) const {
    const Call call = made.call;
    std::vector<Fault> faults;
    for (const int error : errors_of(call)) {
      for (const bool lasting : {false, true}) {
        if (!lasting || !passes(error))
          faults.push_back({.call = call, .at = made.number, .error = error, .lasting = lasting});
      }
    }
    if (Parts::transfers(call)) {
      for (const bool lasting : {false, true}) {
        faults.push_back({.call = call, .at = made.number, .lasting = lasting, .part = true});
      }
    }
    if (all_errors_ || faults.empty()) return faults;
    return {faults[at % faults.size()]};
  }

  std::vector<Recorder::Made> run(const Fault& fault) {
    empty(run_);
    {
      Pretender pretender({.on_disk = on_disk_});
      const Watch watch(pretender);
      subject_.prepare(run_);
    }
    Recorder recorder(run_, {.on_disk = on_disk_}, false, fault);
    unsigned steps = 0;
    {
      const Watch watch(recorder);
      try {
        subject_.run(run_, [&] { ++steps; });
      } catch (const Error& error) {
        ++counts_.errors;
        if (fault.error == 0 || fault.error == EINTR) wrong(std::string("throws: ") + error.what());
        if (std::string(error.what()).find(run_) == std::string::npos) {
          wrong(std::string("the error does not say where: ") + error.what());
        }
      } catch (const std::exception& error) {
        wrong(std::string("throws what is no holdfast::Error: ") + error.what());
      }
    }
    counts_.faults += recorder.has_failed() ? 1 : 0;  // where time decides, a run may make fewer calls than the first
    must_be_right(recorder, fault, steps);
    return recorder.made();
  }

  void must_be_right(Recorder& recorder, const Fault& fault, unsigned steps) {
    const Recorder::Kept end = recorder.now();
    const bool names_too = fault.error == 0 || fault.call != Call::unlink;
    const std::string held = recorder.leaks() + remains(run_, names_too);
    if (!held.empty()) wrong("it keeps" + held);
    check(run_, steps, Crash::kill, 1);
    if (!on_disk_) return;
    for_each_power_cut(end.moment, all_errors_ ? kAfterwards : kLittleAfterwards, [&](const Image& image) {
      empty(left_);
      write(image, left_);
      check(left_, steps, Crash::power, 2);
    });
  }

  void check(const std::string& folder, unsigned steps, Crash crash, unsigned boot) {
    if (counts_.wrong.size() >= kMostWrong) return;
    ++counts_.images;
    Pretender pretender({.on_disk = on_disk_, .boot = boot});
    const Watch watch(pretender);
    std::string what = subject_.check(folder, steps, crash);
    if (what.empty()) what = subject_.go_on(folder);
    if (!what.empty()) wrong((crash == Crash::power ? "after a power cut " : "afterwards ") + what);
  }

  void wrong(const std::string& what) { counts_.wrong.push_back(where_ + ": " + what); }

  Subject& subject_;
  const std::string run_, left_;
  const bool on_disk_, all_errors_;
  Counts counts_;
  std::string where_ = "nothing fails";
};

}  // namespace

Counts fail_everywhere(Subject& subject, const std::string& root, bool on_disk, Errors errors) {
  return Faults(subject, root, on_disk, errors).go();
}

}  // namespace holdfast::proof
