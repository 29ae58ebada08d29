// subject.cpp: our tables and the peers behind one way of running a round.
#include "dramhit/subject.hpp"

#include <cstdlib>
#include <utility>

#include "dramhit/folklore.hpp"
#include "dramhit/originals/library.hpp"
#include "holdfast/memory_table.hpp"
#include "peers/target.hpp"

namespace holdfast::bench::dramhit {
namespace {

class DramhitCaller final : public Caller {
 public:
  DramhitCaller(MemoryTable& table, bool silent, unsigned depth)
      : handle_(table.handle({silent, Combine::add, Element::u64, depth})) {}

  void run(Round& round) override {
    const std::size_t n = round.size;
    answers_.ids = std::span(round.ids).first(n);
    answers_.statuses = std::span(round.statuses).first(n);
    answers_.values = std::as_writable_bytes(std::span(round.out).first(n));
    answers_.size = 0;
    for (std::size_t at = 0; at < n; at += round.batch) {
      if (round.cycles != nullptr) (*round.cycles)[at] = ticks();
      submit(round, at, std::min(round.batch, n - at));
      if (round.cycles != nullptr) stamp(round);
      if (round.pollutes != 0) pollute(round, round.batch);
    }
    handle_.flush(answers_);
    if (round.cycles != nullptr) stamp(round);
  }

 private:
  void submit(Round& round, std::size_t at, std::size_t n) {
    // Ids are the rows: keys are given with the numbers that they have in the round.
    if (rows_.size() < round.size) {
      rows_.resize(round.size);
      for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i] = i;
    }
    const auto ids = std::span<const std::uint64_t>(rows_).subspan(at, n);
    const std::uint64_t* const keys = round.keys.data() + at;
    const std::uint64_t* const values = round.values.data() + at;
    const Op op = round.ops != nullptr ? static_cast<Op>(round.ops[at]) : round.op;
    switch (op) {
      case Op::find: handle_.get(keys, ids, n, answers_); break;
      case Op::accumulate: handle_.upsert(keys, values, ids, n, answers_); break;
      case Op::erase: handle_.erase(keys, ids, n, answers_); break;
      default: handle_.put(keys, values, ids, n, answers_);
    }
  }

  /// Answers that have come since: from a call's time to how long it took.
  void stamp(Round& round) {
    if (answers_.size == 0) stamped_ = 0;
    for (; stamped_ < answers_.size; ++stamped_) {
      std::uint64_t& cycles = (*round.cycles)[round.ids[stamped_]];
      cycles = ticks() - cycles;
    }
    if (stamped_ == round.size) stamped_ = 0;
  }

  MemoryHandle handle_;
  MemoryAnswers answers_;
  std::size_t stamped_ = 0;
  std::vector<std::uint64_t> rows_;
};

class DramhitSubject final : public Subject {
 public:
  DramhitSubject(std::uint64_t capacity, unsigned depth, unsigned partitions)
      : depth_(depth), table_(options(capacity, partitions)) {}
  std::unique_ptr<Caller> caller(bool silent) override {
    return std::make_unique<DramhitCaller>(table_, silent, depth_);
  }
  bool is_silent() const override { return table_.stats().partitions.count != 0; }
  unsigned changers(unsigned threads) const override {
    const unsigned partitions = table_.stats().partitions.count;
    return threads > partitions ? threads - partitions : 1;
  }
  std::uint64_t lines() const override { return table_.stats().work.lines; }
  std::uint64_t operations() const override { return table_.stats().work.operations; }

 private:
  static MemoryOptions options(std::uint64_t capacity, unsigned partitions) {
    MemoryOptions options;
    options.partitions = partitions;
    options.capacity = capacity;
    options.populate = true;
    return options;
  }
  const unsigned depth_;
  MemoryTable table_;
};

class FolkloreCaller final : public Caller {
 public:
  explicit FolkloreCaller(Folklore& table) : table_(table) {}
  void run(Round& round) override {
    for (std::size_t at = 0; at < round.size; at += round.batch) {
      const Op op = round.ops != nullptr ? static_cast<Op>(round.ops[at]) : round.op;
      const std::uint64_t from = ticks();
      table_.run(op, round.keys.data() + at, round.values.data() + at, round.out.data() + at,
                 round.statuses.data() + at, std::min(round.batch, round.size - at));
      if (round.pollutes != 0) pollute(round, round.batch);
      if (round.cycles != nullptr) (*round.cycles)[at] = ticks() - from;
    }
  }

 private:
  Folklore& table_;
};

class FolkloreSubject final : public Subject {
 public:
  explicit FolkloreSubject(std::uint64_t capacity) : table_(make_folklore(capacity, true)) {}
  std::unique_ptr<Caller> caller(bool) override { return std::make_unique<FolkloreCaller>(*table_); }

 private:
  std::unique_ptr<Folklore> table_;
};

class PeerCaller final : public Caller {
 public:
  explicit PeerCaller(Target& target) : target_(target) {}
  void run(Round& round) override {
    for (std::size_t at = 0; at < round.size; at += round.batch) {
      Work work;
      work.size = std::min(round.batch, round.size - at);
      work.op = round.ops != nullptr ? static_cast<Op>(round.ops[at]) : round.op;
      work.keys = round.keys.data() + at;
      work.values = reinterpret_cast<const std::byte*>(round.values.data() + at);
      work.out = reinterpret_cast<std::byte*>(round.out.data() + at);
      work.statuses = round.statuses.data() + at;
      target_.run(work);
    }
  }

 private:
  Target& target_;
};

class PeerSubject final : public Subject {
 public:
  explicit PeerSubject(std::unique_ptr<Target> target) : target_(std::move(target)) {}
  std::unique_ptr<Caller> caller(bool) override { return std::make_unique<PeerCaller>(*target_); }

 private:
  std::unique_ptr<Target> target_;
};

}  // namespace

void pollute(const Round& round, std::size_t operations) {
  static thread_local Random random(reinterpret_cast<std::uintptr_t>(&round));
  for (std::size_t i = 0; i < operations * round.pollutes; ++i) {
    __builtin_prefetch(round.polluted + random.below(round.polluted_lines) * 64);
  }
}

std::vector<std::string> peer_names() {
  std::vector<std::string> names = peers();
#ifdef HOLDFAST_HAVE_BOOST
  names.emplace_back("boost");
#endif
#ifdef HOLDFAST_HAVE_ABSL
  names.emplace_back("absl");
#endif
  return names;
}

std::unique_ptr<Subject> subject(const std::string& asked, std::uint64_t capacity, const Setup& setup) {
  const std::size_t at = asked.find('@');
  const std::string name = asked.substr(0, at);
  if (at != std::string::npos) {
    setenv("HOLDFAST_TILE", asked.substr(at + 1).c_str(), 1);  // read when the table is made
    auto made = subject(name, capacity, setup);
    unsetenv("HOLDFAST_TILE");
    return made;
  }
  for (const std::string& path : setup.originals) {
    if (const HoldfastVolatile& one = load_volatile(path); name == one.name) return volatile_subject(one, capacity);
  }
  if (name == "dramhit") return std::make_unique<DramhitSubject>(capacity, setup.depth, 0);
  if (name == "dramhit-p") {
    // Room to spare: a partition takes no more at nine tenths, and some get more keys than others.
    return std::make_unique<DramhitSubject>(capacity, setup.depth, std::max(1u, setup.threads / 2));
  }
  if (name == "folklore") return std::make_unique<FolkloreSubject>(capacity);
  if (name == "libcuckoo") return std::make_unique<PeerSubject>(libcuckoo_target(capacity));
  if (name == "tbb") return std::make_unique<PeerSubject>(tbb_target(capacity));
  if (name == "boost") return std::make_unique<PeerSubject>(boost_target(capacity));
  return std::make_unique<PeerSubject>(absl_target(capacity));
}

}  // namespace holdfast::bench::dramhit
