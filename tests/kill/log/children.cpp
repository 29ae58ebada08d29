// children.cpp: the writer and the recovering child of the subject log. They use the public API only.
#include "kill/log/shared.hpp"
#include "proof/kill/registry.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "holdfast/log.hpp"
#include "holdfast/region.hpp"
#include "holdfast/transaction.hpp"
#include "kill/log/in_kernel.hpp"
#include "proof/runs/random.hpp"

namespace holdfast::proof::kill {
namespace {

std::uint32_t number_in(const Pool& pool, std::uint32_t object) {
  for (const ObjectInfo& one : pool.objects()) {
    if (one.name == kLogObjectNames[object]) return one.number;
  }
  return 0;
}

/// The objects of a pool that are there.
struct LogObjects {
  std::optional<Pool> pool;
  std::optional<Log> logs[3];
  std::optional<Region> cells;

  LogOptions options(const LogRound& round, std::uint32_t log) const {
    const LogShape& shape = round.logs[log];
    LogOptions options;
    options.entry_bytes = shape.words * 4;
    options.capacity = shape.capacity;
    if (shape.partitions == 0) options.blocks = shape.blocks, options.threads = shape.threads;
    options.partitions = shape.partitions;
    options.gpu = round.gpu;
    options.flush = round.flush;
    return options;
  }
  void open(const LogRound& round, bool gpu) {
    for (std::uint32_t log = 0; log < 3; ++log) {
      if (number_in(*pool, log) == 0) continue;
      LogOptions how;
      how.gpu = gpu;
      how.flush = round.flush;
      logs[log].emplace(Log::open(*pool, kLogObjectNames[log], how));
    }
    if (number_in(*pool, kCells) != 0) {
      RegionOptions how;
      how.gpu = gpu;
      how.flush = round.flush;
      cells.emplace(Region::open(*pool, kLogObjectNames[kCells], how));
    }
  }
  bool recover() { return logs[kUndo] && cells && Transaction::recover(*logs[kUndo], *cells); }
};

class LogWriter : public Writer {
 public:
  explicit LogWriter(Shared& shared)
      : shared_(shared), ours_(shared.part<LogShared>()), round_(shared.part<LogShared>().round) {}

  /// Creates what is not there, in order.
  void open() override {
    its_.pool.emplace(shared_.create != 0 ? Pool::create(shared_.path) : Pool::open(shared_.path));
    its_.open(round_, round_.gpu);
    for (std::uint32_t log = 0; log < 3; ++log) {
      if (!its_.logs[log]) {
        its_.logs[log].emplace(Log::create(*its_.pool, kLogObjectNames[log], its_.options(round_, log)));
      }
      if (log < 2) ours_.numbers[log] = number_in(*its_.pool, log);
      ours_.made.store(log + 1);
    }
    if (!its_.cells) {
      RegionOptions how;
      how.gpu = round_.gpu;
      how.flush = round_.flush;
      its_.cells.emplace(
          Region::create(*its_.pool, kLogObjectNames[kCells], std::uint64_t{round_.region_words()} * 4, how));
    }
    ours_.made.store(kLogObjects);
    its_.recover();
  }
  unsigned threads() const override { return 1; }

  void call(unsigned) override {
    Random random(mix(round_.seed, shared_.life));
    while (ours_.calls.begun.load() < kLogEntries) {
      const bool stops = ours_.calls.stops() && random.chance(50);
      make(stops ? static_cast<LogCall>(ours_.calls.stop_in) : choose(random), random);
    }
    ours_.calls.full.store(1, std::memory_order_release);
  }

 private:
  static LogCall choose(Random& random) {
    const auto what = random.below(1000);
    if (what < 450) return LogCall::insert;
    if (what < 550) return LogCall::remove;
    if (what < 590) return LogCall::clear;
    if (what < 605) return LogCall::truncate;
    return what < 998 ? LogCall::transaction : LogCall::create;
  }

  void make(LogCall kind, Random& random) {
    const std::uint32_t at = ours_.calls.begun.load();
    LogEntry& entry = ours_.entries[at];
    const auto log = static_cast<std::uint32_t>(random.below(2));
    const auto place = static_cast<std::uint32_t>(random.below(round_.logs[log].places()));
    entry = {kind, (shared_.life + 1) << 16 | (at + 1), log, place, 0, 0};
    const LogValue value = value_of(round_, log, entry.id);
    const std::vector<LogUpdate> updates =
        kind == LogCall::transaction ? updates_of(round_, entry.id) : std::vector<LogUpdate>();
    ours_.calls.begun.store(at + 1, std::memory_order_release);
    ours_.calls.run(shared_, static_cast<std::uint32_t>(kind), [&] {
      const LogStatus status = carry_out(entry, value, updates);
      std::atomic_ref(entry.acknowledged).store(1 + static_cast<std::uint32_t>(status), std::memory_order_release);
    });
  }

  /// Most calls on a GPU. The others are the CPU's, which the next kernel has to see.
  bool in_kernel(const LogEntry& entry) const { return round_.gpu && mix(round_.seed, entry.id) % 4 != 0; }

  LogStatus carry_out(LogEntry& entry, const LogValue& value, const std::vector<LogUpdate>& updates) {
    if (entry.call == LogCall::transaction) return update(entry, updates);
    if (entry.call == LogCall::create) return create(entry);
    Log& log = *its_.logs[entry.log];
#ifdef HOLDFAST_WITH_CUDA
    if (entry.call != LogCall::truncate && in_kernel(entry)) {
      return call_in_kernel(log, entry.call, entry.place, value);
    }
#endif
    switch (entry.call) {
      case LogCall::insert: return log.insert(entry.place, value.words, value.count * 4);
      case LogCall::remove: return log.remove(entry.place);
      case LogCall::clear: return log.clear(entry.place);
      default: log.clear(); return LogStatus::ok;
    }
  }

  LogStatus update(const LogEntry& entry, const std::vector<LogUpdate>& updates) {
    const bool kernel = in_kernel(entry);
    Transaction batch(*its_.logs[kUndo], *its_.cells, Domain::process,
                      kernel ? holdfast::Writer::gpu : holdfast::Writer::cpu);
#ifdef HOLDFAST_WITH_CUDA
    const LogStatus status =
        kernel ? update_in_kernel(batch, round_.logs[kUndo].threads, updates) : update(batch, updates);
#else
    const LogStatus status = update(batch, updates);
#endif
    if (status == LogStatus::ok && !gives_up(round_, entry.id)) batch.commit();
    return status;
  }
  static LogStatus update(Transaction& batch, const std::vector<LogUpdate>& updates) {
    for (const LogUpdate& one : updates) {
      const LogStatus status =
          batch.update(one.place, std::uint64_t{one.offset} * 4, one.words, std::size_t{one.count} * 4);
      if (status != LogStatus::ok) return status;
    }
    return LogStatus::ok;
  }

  LogStatus create(LogEntry& entry) {
    std::optional<Log>& log = its_.logs[entry.log];
    log->close();
    LogOptions options = its_.options(round_, entry.log);
    options.overwrite = true;
    log.emplace(Log::create(*its_.pool, kLogObjectNames[entry.log], options));
    entry.number = number_in(*its_.pool, entry.log);
    return LogStatus::ok;
  }

  Shared& shared_;
  LogShared& ours_;
  const LogRound round_;
  LogObjects its_;
};

class LogReader : public Reader {
 public:
  explicit LogReader(Shared& shared) : shared_(shared) {}

  void open() override {
    its_.emplace();
    its_->pool.emplace(Pool::open(shared_.path));
    its_->open(shared_.part<LogShared>().round, std::strcmp(shared_.recovery_device, "cpu") != 0);
    LogFound& found = shared_.part<LogShared>().found;
    found.undone = its_->recover() ? 1 : 0;
    found.undone_again = its_->recover() ? 1 : 0;
    std::string errors;
    for (const std::string& error : its_->pool->check().errors) errors += error + "; ";
    copy_text(shared_.recovered.check_errors, errors);
  }

  void look() override {
    LogFound& found = shared_.part<LogShared>().found;
    found.objects = static_cast<std::uint32_t>(its_->pool->objects().size());
    for (std::uint32_t log = 0; log < 2; ++log) {
      if (its_->logs[log]) look(log, found.logs[log]);
    }
    if (const std::optional<Log>& undo = its_->logs[kUndo]) {
      for (std::uint64_t place = 0; place < undo->places(); ++place) found.left += undo->count(place);
    }
    if (!its_->cells) return;
    const std::span<const std::uint32_t> words = its_->cells->as<std::uint32_t>();
    found.region_words = static_cast<std::uint32_t>(words.size());
    std::copy_n(words.begin(), std::min<std::size_t>(words.size(), kMostRegionWords), found.region);
  }

  void close() override {
    its_->cells.reset();
    for (std::optional<Log>& log : its_->logs) log.reset();
    its_->pool->close();
  }

 private:
  void look(std::uint32_t number, FoundLog& found) const {
    const Log& log = *its_->logs[number];
    found.number = number_in(*its_->pool, number);
    found.places = static_cast<std::uint32_t>(log.places());
    for (std::uint32_t place = 0; place < std::min(found.places, kMostLogPlaces); ++place) {
      found.count[place] = log.count(place);
      for (std::uint32_t i = 0; i < std::min(found.count[place], kMostLogCapacity); ++i) {
        found.ids[place][i] = id_of(number, place, found.count[place] - 1 - i);
      }
    }
  }

  /// The call that inserted what is there, `back` before the newest; 0: none inserted that.
  std::uint32_t id_of(std::uint32_t number, std::uint32_t place, std::uint32_t back) const {
    const Log& log = *its_->logs[number];
    std::uint32_t words[kMostLogWords] = {};
    if (log.read(place, words, 4, back) != LogStatus::ok) return 0;
    const LogValue value = value_of(shared_.part<LogShared>().round, number, words[0]);
    if (log.read(place, words, std::size_t{value.count} * 4, back) != LogStatus::ok) return 0;
    return std::equal(words, words + value.count, value.words) ? words[0] : 0;
  }

  Shared& shared_;
  std::optional<LogObjects> its_;
};

const RegisterChildren<LogWriter, LogReader> log_children{"log"};

}  // namespace

}  // namespace holdfast::proof::kill
