// subject.cpp: the subject region, and the smallest example of one: a region of words, all of which each call writes and persists.
#include "holdfast/region.hpp"

#include <algorithm>
#include <optional>

#include "proof/kill/calls.hpp"
#include "proof/kill/oracle.hpp"
#include "proof/kill/registry.hpp"

namespace holdfast::proof::kill {
namespace {

constexpr const char* kRegionCalls[] = {"making", "write", "between"};
constexpr Stop kRegionStops[] = {{Failpoint::pool_unnamed, 0}, {Failpoint::mark_cleared, 1}};
constexpr std::uint64_t kRegionWords = 512;

struct RegionShared {
  CallState calls;
  std::atomic<std::uint64_t> begun, done;  ///< steps: of the last call, and of the last that was acknowledged
  std::uint64_t found_words;               ///< 0: there is no region
  std::uint64_t found[kRegionWords];
};

class RegionWriter : public Writer {
 public:
  explicit RegionWriter(Shared& shared) : shared_(shared) {}
  void open() override {
    pool_.emplace(shared_.create != 0 ? Pool::create(shared_.path) : Pool::open(shared_.path));
    region_.emplace(pool_->objects().empty() ? Region::create(*pool_, "words", kRegionWords * 8)
                                             : Region::open(*pool_, "words"));
  }
  unsigned threads() const override { return 1; }
  void call(unsigned) override {
    for (std::uint64_t step = (std::uint64_t{shared_.life} << 32) + 1;; ++step) {  // ends: it is killed
      ours_.calls.begun.fetch_add(1);
      ours_.begun = step;
      ours_.calls.run(shared_, 1, [&] {
        Section section = region_->section();
        const std::span<std::uint64_t> words = section.as<std::uint64_t>();
        for (std::uint64_t k = 0; k < words.size(); ++k) words[k] = mix(step, k);
        section.persist();
        section.end();
        ours_.done = step;
      });
    }
  }

 private:
  Shared& shared_;
  RegionShared& ours_ = shared_.part<RegionShared>();
  std::optional<Pool> pool_;
  std::optional<Region> region_;
};

class RegionReader : public Reader {
 public:
  explicit RegionReader(Shared& shared) : shared_(shared) {}
  void open() override { pool_.emplace(Pool::open(shared_.path)); }
  void look() override {
    auto& ours = shared_.part<RegionShared>();
    if (pool_->objects().empty()) return;
    const Region region = Region::open(*pool_, "words");
    const std::span<const std::uint64_t> words = region.as<std::uint64_t>();
    ours.found_words = words.size();
    std::copy_n(words.begin(), std::min<std::size_t>(words.size(), kRegionWords), ours.found);
  }
  void close() override { pool_->close(); }

 private:
  Shared& shared_;
  std::optional<Pool> pool_;
};

class RegionSubject : public SubjectOfCalls {
 public:
  RegionSubject(const Options& options, Shared& shared)
      : SubjectOfCalls(options, shared, shared.part<RegionShared>().calls, kRegionCalls, kRegionStops) {}

  std::uint64_t begin_pool(std::uint64_t, bool, Random& random) override {
    words_ = PossibleValues<std::uint64_t>(kRegionWords);
    return 4 + random.below(10);
  }
  RecoveryFailpoints mended_at(Failpoint) const override { return {}; }
  void begin_life(const Stop& stop, Random& random) override {
    SubjectOfCalls::begin_life(stop, random);
    ours_.begun = ours_.done = 0;
  }
  Pace pace() const override { return {.longest_us = 20'000, .call_bits = 16, .patience_us = 1'000'000}; }

  std::vector<std::string> replay(bool) override {
    ended_in(ours_.begun != ours_.done ? 1 : 2);
    note_calls(words_, ours_.done, ours_.begun, [](std::uint64_t step, std::uint64_t k) { return mix(step, k); });
    return {};
  }
  void forget_found() override { ours_.found_words = 0; }
  /// Each word is of the last acknowledged step, or of the one that was not.
  std::vector<std::string> verify() override {
    if (ours_.found_words == 0)
      return kind() == 0 ? std::vector<std::string>{} : std::vector{std::string("it is gone")};
    for (std::uint64_t k = 0; k < kRegionWords; ++k) {
      if (!words_.found(k, ours_.found[k])) return {"word " + std::to_string(k) + " is of no step"};
    }
    ++verified_;
    return {};
  }
  std::string about() const override { return "killed in " + kind_name(); }
  std::string lacking(const KillCounts&, std::uint64_t planned) const override {
    return few("regions were verified", verified_, planned / 2);
  }
  void add_to(Results& results) const override { results.add("regions_verified", verified_); }

 protected:
  std::uint64_t first_stop(Random&) const override { return 1; }

 private:
  RegionShared& ours_ = shared_.part<RegionShared>();
  PossibleValues<std::uint64_t> words_;
  std::uint64_t verified_ = 0;
};

const RegisterSubject<RegionSubject, RegionShared> region_subject{{.name = "region", .share = 10}};
const RegisterChildren<RegionWriter, RegionReader> region_children{"region"};

}  // namespace
}  // namespace holdfast::proof::kill
