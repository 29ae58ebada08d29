// power_cuts.cpp: what a power cut leaves of persistent memory, by the flushes and fences of the code that ships; and what recovery
// makes of it.
#include <filesystem>
#include <set>
#include <utility>

#include "proof/crashes.hpp"
#include "proof/recorder.hpp"

namespace holdfast::proof {

namespace {

/// Fences are many, and few pages change between two of them.
constexpr Bounds kBetweenFences = {.all = 8, .singles = false, .samples = 4};

/// An image, and how many steps had been acknowledged when it was left.
struct Left {
  Image image;
  unsigned step;
  std::string where;
};

class PowerCuts {
 public:
  PowerCuts(Subject& subject, const std::string& root, std::size_t most_images, std::size_t most_recoveries, Crash as)
      : subject_(subject),
        run_(root + "/run"),
        left_(root + "/left"),
        most_images_(most_images),
        most_recoveries_(most_recoveries),
        as_(as) {}

  Counts go() {
    std::filesystem::create_directory(run_);
    std::filesystem::create_directory(left_);
    {
      Pretender pretender(machine(1));
      const Watch watch(pretender);
      subject_.prepare(run_);
    }
    Recorder recorder(run_, machine(1));
    {
      const FlushWatch watch(recorder);
      subject_.run(run_, [&] { recorder.said(); });
    }
    counts_.calls = recorder.made().size();
    std::vector<Left> images = images_of(recorder, 0, "");
    counts_.images = images.size();
    for (const Left& left : some(std::move(images), most_images_)) {
      if (counts_.wrong.size() < kMostWrong) try_one(left);
    }
    counts_.recoveries = recoveries_.size();
    for (const Left& left : some(std::move(recoveries_), most_recoveries_)) {
      if (counts_.wrong.size() < kMostWrong) recover(left, 3);
    }
    return counts_;
  }

 private:
  static Pretence machine(unsigned boot) { return {.on_disk = true, .boot = boot, .direct = true}; }

  /// Those that differ, in the order in which they could be left. In a recovery no step is acknowledged.
  std::vector<Left> images_of(Recorder& recorder, unsigned step, const std::string& where) {
    std::vector<Left> images;
    std::vector<Recorder::Kept> moments = recorder.kept();
    moments.push_back(recorder.now());
    for (const Recorder::Kept& moment : moments) {
      const unsigned at = step + moment.step;
      const std::string call = moment.calls == 0 ? "" : ", " + recorder.made()[moment.calls - 1].what;
      for_each_power_cut(moment.moment, kBetweenFences, [&](const Image& image) {
        if (!seen_.emplace(digest(image), at).second) return;
        images.push_back({image, at, where + "after " + std::to_string(moment.step) + " steps" + call});
      });
    }
    return images;
  }

  static std::vector<Left> some(std::vector<Left> images, std::size_t most) {
    if (images.size() <= most || tries_all_images()) return images;
    std::vector<Left> chosen;
    for (std::size_t i = 0; i < most; ++i) chosen.push_back(std::move(images[i * images.size() / most]));
    return chosen;
  }

  static bool tries_all_images() {
    const char* const value = std::getenv("HOLDFAST_LONG");
    return value != nullptr && std::strcmp(value, "1") == 0;
  }

  void try_one(const Left& left) {
    empty(left_);
    write(left.image, left_);
    Recorder recorder(left_, machine(2));
    if (!check(recorder, left)) return;
    std::vector<Left> again = images_of(recorder, left.step, left.where + ", and in recovery ");
    recoveries_.insert(recoveries_.end(), std::make_move_iterator(again.begin()), std::make_move_iterator(again.end()));
    Pretender pretender(machine(2));
    const Watch watch(pretender);
    if (const std::string what = subject_.go_on(left_); !what.empty()) wrong(left, what);
  }

  void recover(const Left& left, unsigned boot) {
    empty(left_);
    write(left.image, left_);
    Recorder recorder(left_, machine(boot), false);
    check(recorder, left);
  }

  bool check(Recorder& recorder, const Left& left) {
    std::string what;
    {
      const FlushWatch watch(recorder);
      what = subject_.check(left_, left.step, as_);
    }
    if (what.empty()) return true;
    wrong(left, what);
    return false;
  }

  void wrong(const Left& left, const std::string& what) {
    counts_.wrong.push_back("power cut " + left.where + ": " + what);
  }

  Subject& subject_;
  const std::string run_, left_;
  const std::size_t most_images_, most_recoveries_;
  const Crash as_;
  Counts counts_;
  std::vector<Left> recoveries_;
  std::set<std::pair<std::uint64_t, unsigned>> seen_;
};

}  // namespace

Counts cut_power_everywhere(Subject& subject, const std::string& root, std::size_t most_images,
                            std::size_t most_recoveries, Crash as) {
  return PowerCuts(subject, root, most_images, most_recoveries, as).go();
}

}  // namespace holdfast::proof
