// crashes.cpp: from the moments of a run to folders, and from those to what is wrong with them.
#include "proof/crashes.hpp"

#include <filesystem>
#include <set>
#include <tuple>

#include "proof/recorder.hpp"

namespace holdfast::proof {

namespace {

constexpr unsigned kFirstBoot = 1;
/// A recovery is crashed at each of its calls too, but with fewer choices of what the device has.
constexpr Bounds kInRecovery = {.all = 64, .samples = 4};

class Crashes {
 public:
  Crashes(Subject& subject, const std::string& root, bool on_disk, const Bounds& bounds)
      : subject_(subject), run_(root + "/run"), left_(root + "/left"), on_disk_(on_disk), bounds_(bounds) {}

  Counts go() {
    std::filesystem::create_directory(run_);
    std::filesystem::create_directory(left_);
    prepare();
    Recorder recorder(run_, {.on_disk = on_disk_, .boot = kFirstBoot});
    {
      const Watch watch(recorder);
      subject_.run(run_, [&] { recorder.said(); });
    }
    counts_.calls = recorder.made().size();
    if (const std::string leaks = recorder.leaks(); !leaks.empty()) wrong("the run keeps", leaks);
    std::vector<Recorder::Kept> moments = recorder.kept();
    moments.push_back(recorder.now());
    for (const Recorder::Kept& moment : moments) {
      const std::size_t at = moment.calls;
      where_ = "crashed after " + std::to_string(moment.step) + " steps, call " + std::to_string(at) +
               (at == 0 ? "" : " (" + recorder.made()[at - 1].what + ")");
      crash(moment);
      if (counts_.wrong.size() >= kMostWrong) break;
    }
    return counts_;
  }

 private:
  void prepare() {
    Pretender pretender({.on_disk = on_disk_, .boot = kFirstBoot});
    const Watch watch(pretender);
    subject_.prepare(run_);
  }

  void crash(const Recorder::Kept& moment) {
    left(killed(moment.moment), moment.step, Crash::kill, kFirstBoot);
    if (!on_disk_) return;
    for_each_power_cut(moment.moment, bounds_,
                       [&](const Image& image) { left(image, moment.step, Crash::power, kFirstBoot + 1); });
  }

  /// True if this was not tried before.
  bool is_new(const Image& image, unsigned step, Crash crash) {
    return tried_.emplace(digest(image), step, crash).second;
  }

  bool is_left_out(Crash crash) { return crash == Crash::power && !tries_all() && ++power_cuts_ % 4 != 0; }

  void left(const Image& image, unsigned step, Crash crash, unsigned boot) {
    if (counts_.wrong.size() >= kMostWrong || !is_new(image, step, crash) || is_left_out(crash)) return;
    ++counts_.images;
    empty(left_);
    write(image, left_);
    Recorder recorder(left_, {.on_disk = on_disk_, .boot = boot});
    if (!check(recorder, image, step, crash)) return;
    {
      Pretender pretender({.on_disk = on_disk_, .boot = boot});
      const Watch watch(pretender);
      if (const std::string what = subject_.go_on(left_); !what.empty()) return wrong(name(crash), what);
    }
    for (const Recorder::Kept& moment : recorder.kept()) {
      again(killed(moment.moment), step, crash, boot);
      if (!on_disk_) continue;
      for_each_power_cut(moment.moment, kInRecovery,
                         [&](const Image& next) { again(next, step, Crash::power, boot + 1); });
    }
  }

  /// The same for what a crash of a recovery left.
  void again(const Image& image, unsigned step, Crash crash, unsigned boot) {
    if (counts_.wrong.size() >= kMostWrong || !is_new(image, step, crash) || is_left_out(crash)) return;
    ++counts_.recoveries;
    empty(left_);
    write(image, left_);
    Recorder recorder(left_, {.on_disk = on_disk_, .boot = boot}, false);
    where_ += ", and again in recovery";
    check(recorder, image, step, crash);
    where_.resize(where_.size() - std::string(", and again in recovery").size());
  }

  bool check(Recorder& recorder, const Image& image, unsigned step, Crash crash) {
    std::string what;
    {
      const Watch watch(recorder);
      what = subject_.check(left_, step, crash);
    }
    if (what.empty() && !recorder.leaks().empty()) what = "it keeps" + recorder.leaks();
    if (what.empty()) return true;
    for (const auto& [name, file] : image) what += "; " + name + " has " + std::to_string(file.length) + " bytes";
    wrong(name(crash), what);
    return false;
  }

  static std::string name(Crash crash) { return crash == Crash::kill ? "killed" : "power cut"; }
  void wrong(const std::string& how, const std::string& what) {
    counts_.wrong.push_back(where_ + ", " + how + ": " + what);
  }

  Subject& subject_;
  const std::string run_, left_;
  const bool on_disk_;
  const Bounds& bounds_;
  Counts counts_;
  std::string where_;
  std::uint64_t power_cuts_ = 0;
  std::set<std::tuple<std::uint64_t, unsigned, Crash>> tried_;
};

}  // namespace

Counts crash_everywhere(Subject& subject, const std::string& root, bool on_disk, const Bounds& bounds) {
  return Crashes(subject, root, on_disk, bounds).go();
}

}  // namespace holdfast::proof
