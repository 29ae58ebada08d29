// deferred_index.cpp: entries in host memory, and the batches that bring them to the other index.
#include "structures/cuckoo/deferred_index.hpp"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

#include "core/both.hpp"
#include "core/clock.hpp"
#include "holdfast/error.hpp"

namespace holdfast::cuckoo {

namespace {

/// Of 64 buckets, so many with entries that wait begin a batch: with the default number of buckets, it has about 6,000 rows.
constexpr int kFullWord = 16;
/// A search sends what waits, however little, when no batch was sent for this long.
constexpr auto kOld = std::chrono::milliseconds(2);
/// Rows between the one whose bucket is fetched and the one that is read.
constexpr std::size_t kAhead = 12;
/// The moment when an entry that waits, or was sent, will have reached the other index.
constexpr std::uint64_t kLater = ~std::uint64_t{0};

std::int64_t nanoseconds() { return Clock::now().time_since_epoch().count(); }

}  // namespace

/// The lock of a bucket, for one who changes it.
class DeferredIndex::Change {
 public:
  Change(DeferredIndex& index, std::size_t bucket) : bucket_(index.buckets_[bucket]), newest_(index.newest_[bucket]) {
    std::uint32_t version = bucket_.version.load(std::memory_order_relaxed);
    for (unsigned spins = 0; version % 2 != 0 || !bucket_.version.compare_exchange_weak(version, version + 1);
         version = bucket_.version.load(std::memory_order_relaxed)) {  // ends: its holder waits for nothing
      if (++spins % 64 == 0) std::this_thread::yield();
    }
    for (unsigned way = 0; way < kWays; ++way) {
      entries_.of[way] = {
          bucket_.states[way].load(std::memory_order_relaxed), bucket_.hashes[way].load(std::memory_order_relaxed),
          bucket_.now[way].load(std::memory_order_relaxed),    bucket_.before[way].load(std::memory_order_relaxed),
          bucket_.sent[way].load(std::memory_order_relaxed),   bucket_.done[way].load(std::memory_order_relaxed)};
    }
  }
  ~Change() {
    std::uint64_t newest = bucket_.given_up.load(std::memory_order_relaxed);
    for (const Entry& entry : entries_.of) {
      if (entry.state != State::none) newest = std::max(newest, entry.state == State::done ? entry.done : kLater);
    }
    newest_.store(newest, std::memory_order_release);  // before a search can see the entries
    bucket_.version.fetch_add(1);
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  Entry& operator[](unsigned way) { return entries_.of[way]; }
  Entry* begin() { return entries_.of; }
  Entry* end() { return entries_.of + kWays; }
  /// An entry that was completed in this batch goes.
  void give_up(std::uint64_t done) {
    if (done > bucket_.given_up.load(std::memory_order_relaxed))
      bucket_.given_up.store(done, std::memory_order_release);
  }
  unsigned way_of(const Entry& entry) const { return static_cast<unsigned>(&entry - entries_.of); }
  /// Stores what the caller has made of an entry.
  void store(const Entry& entry) {
    const unsigned way = way_of(entry);
    bucket_.states[way].store(entry.state, std::memory_order_release);
    bucket_.hashes[way].store(entry.hash, std::memory_order_release);
    bucket_.now[way].store(entry.now, std::memory_order_release);
    bucket_.before[way].store(entry.before, std::memory_order_release);
    bucket_.sent[way].store(entry.sent, std::memory_order_release);
    bucket_.done[way].store(entry.done, std::memory_order_release);
  }

 private:
  Bucket& bucket_;
  std::atomic<std::uint64_t>& newest_;
  Entries entries_;
};

DeferredIndex::DeferredIndex(std::unique_ptr<AnyIndex> index, unsigned place_bits)
    : index_(std::move(index)),
      shift_(64 - (std::max(place_bits, 9u) - 2)),
      buckets_(std::size_t{1} << (64 - shift_)),
      newest_(buckets_.size()),
      waiting_((buckets_.size() + 63) / 64),
      flushed_at_(nanoseconds()) {}

/// The entries of a hash; the others are left out.
DeferredIndex::Entries DeferredIndex::read(const Bucket& bucket, Hash hash) const {
  for (;;) {  // ends: a change holds a bucket for nanoseconds
    const std::uint32_t version = bucket.version.load(std::memory_order_acquire);
    Entries found;
    found.given_up = bucket.given_up.load(std::memory_order_acquire);
    for (unsigned way = 0; way < kWays; ++way) {
      if (bucket.hashes[way].load(std::memory_order_acquire) != hash) continue;
      found.of[way] = {
          bucket.states[way].load(std::memory_order_acquire), hash,
          bucket.now[way].load(std::memory_order_acquire),    bucket.before[way].load(std::memory_order_acquire),
          bucket.sent[way].load(std::memory_order_acquire),   bucket.done[way].load(std::memory_order_acquire)};
    }
    if (version % 2 == 0 && bucket.version.load(std::memory_order_relaxed) == version) return found;
    if (version % 2 != 0) std::this_thread::yield();
  }
}

/// For a new entry: free, or that of the entry that was completed first, which is given up before it goes. Null: all wait.
DeferredIndex::Entry* DeferredIndex::place_for(Change& change) {
  Entry* place = nullptr;
  for (Entry& entry : change) {
    if (entry.state == State::none) return &entry;
    if (entry.state == State::done && (place == nullptr || entry.done < place->done)) place = &entry;
  }
  if (place != nullptr) change.give_up(place->done);
  return place;
}

DeferredIndex::Made DeferredIndex::change(Hash hash, Location old, Location next) {
  Change change(*this, bucket_of(hash));
  if (closed_.load(std::memory_order_relaxed)) return Made::closed;
  Entry* entry =
      std::find_if(change.begin(), change.end(), [&](const Entry& its) { return its.is_of(hash) && its.now == old; });
  if (entry == change.end()) {
    entry = place_for(change);
    if (entry == nullptr) return Made::no_place;
    *entry = {State::waits, hash, old, old, kNone, 0};
  }
  if (entry->state == State::done) {
    entry->state = State::waits;
    entry->before = entry->now;
  }
  entry->now = next;
  if (entry->state == State::waits && entry->before == kNone && next == kNone) *entry = {};
  change.store(*entry);
  return Made::changed;
}

bool DeferredIndex::exchange(Hash hash, Location old, Location next) {
  for (Made made; (made = change(hash, old, next)) != Made::changed;) {  // ends: entries wait until they are flushed
    if (made == Made::closed) return false;
    mark(bucket_of(hash));
    flush();
  }
  if (mark(bucket_of(hash))) flush_some();
  return true;
}

/// True: as many wait as a batch should have.
bool DeferredIndex::mark(std::size_t bucket) {
  std::atomic<std::uint64_t>& word = waiting_[bucket / 64];
  const std::uint64_t bit = std::uint64_t{1} << (bucket % 64);
  if ((word.load() & bit) != 0) return false;
  return std::popcount(word.fetch_or(bit)) + 1 >= kFullWord;
}

void DeferredIndex::flush_some() {
  const std::unique_lock lock(flushing_, std::try_to_lock);
  if (lock.owns_lock()) flush_all();
}

void DeferredIndex::flush() {
  const std::lock_guard lock(flushing_);
  flush_all();
}

void DeferredIndex::close() {
  closed_.store(true, std::memory_order_relaxed);
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket)
    const Change change(*this, bucket);  // waits for changes under way
}

/// The caller holds the mutex. What other threads change meanwhile waits for the next batch.
void DeferredIndex::flush_all() {
  flushed_at_.store(nanoseconds(), std::memory_order_relaxed);
  exchanges_.clear();
  erasures_.clear();
  for (std::size_t word = 0; word < waiting_.size(); ++word) {
    if (waiting_[word].load(std::memory_order_relaxed) == 0) continue;
    const std::uint64_t its = waiting_[word].exchange(0);
    for (std::uint64_t bits = its; bits != 0; bits &= bits - 1) {
      fetch_all(64 * word + static_cast<std::size_t>(std::countr_zero(bits)));
    }
    for (std::uint64_t bits = its; bits != 0; bits &= bits - 1) {
      send(64 * word + static_cast<std::size_t>(std::countr_zero(bits)));
    }
  }
  if (exchanges_.entries.empty() && erasures_.entries.empty()) return;
  std::vector<Outcome> outcomes(std::max(exchanges_.entries.size(), erasures_.entries.size()));
  if (!erasures_.entries.empty()) {  // first: cells become empty
    const auto its = std::span(outcomes).first(erasures_.entries.size());
    index_->erase(erasures_.hashes, erasures_.before, its);
    for ([[maybe_unused]] const Outcome outcome : its) HOLDFAST_ASSERT(outcome == Outcome::erased);
  }
  if (!exchanges_.entries.empty()) {
    const auto its = std::span(outcomes).first(exchanges_.entries.size());
    index_->exchange(exchanges_.hashes, exchanges_.before, exchanges_.now, its);
    for (const Outcome outcome : its) {
      if (outcome == Outcome::no_cell) throw DeviceError("it has no memory for more entries");
      HOLDFAST_ASSERT(outcome != Outcome::absent);
    }
  }
  const std::uint64_t number = completed_.load(std::memory_order_relaxed) + 1;
  completed_.store(number);  // before an entry may be given up as one of this batch
  complete(exchanges_, number);
  complete(erasures_, number);
}

/// Adds the entries of a bucket that wait to the batches.
void DeferredIndex::send(std::size_t bucket) {
  Change change(*this, bucket);
  for (Entry& entry : change) {
    if (entry.state != State::waits) continue;
    if (entry.now == entry.before) {  // as it was
      entry.state = State::done;
    } else {
      entry.state = State::sent;
      entry.sent = entry.now;
      (entry.now == kNone ? erasures_ : exchanges_).add(entry, {bucket, change.way_of(entry)});
    }
    change.store(entry);
  }
}

void DeferredIndex::fetch_all(std::size_t bucket) const {
  __builtin_prefetch(&buckets_[bucket], 1);
  __builtin_prefetch(&buckets_[bucket].before, 1);
}

void DeferredIndex::complete(const Batch& batch, std::uint64_t number) {
  for (std::size_t i = 0; i < batch.entries.size(); ++i) {
    if (i + kAhead < batch.entries.size()) fetch_all(batch.entries[i + kAhead].bucket);
    const Sent its = batch.entries[i];
    bool again = false;
    {
      Change change(*this, its.bucket);
      Entry& entry = change[its.way];
      again = entry.now != entry.sent;
      entry.state = again ? State::waits : State::done;
      if (again) entry.before = entry.sent;
      entry.done = number;
      if (again && entry.before == kNone && entry.now == kNone) entry = {};
      change.store(entry);
    }
    if (again) mark(its.bucket);
  }
}

DeferredIndex::Revised DeferredIndex::revise(Hash hash, Location found, std::uint64_t since) const {
  const std::size_t bucket = bucket_of(hash);
  if (newest_[bucket].load(std::memory_order_acquire) <= since) return {found, true};
  const Entries entries = read(buckets_[bucket], hash);
  Location next = kNone;
  bool superseded = false;
  for (const Entry& entry : entries.of) {
    if (!entry.is_of(hash)) continue;
    const bool replaces = entry.supersedes(found, since);
    superseded = superseded || replaces;
    if (entry.now != kNone && (next == kNone || replaces)) next = entry.now;
  }
  if (next != kNone) return {next, true};
  if (superseded) return {kNone, false};  // another one may have the signature
  return {found, entries.given_up <= since};
}

DeferredIndex::Names DeferredIndex::names(Hash hash, Location location) const {
  const Entries entries = read(buckets_[bucket_of(hash)], hash);
  bool superseded = false;
  for (const Entry& entry : entries.of) {
    if (!entry.is_of(hash)) continue;
    if (entry.now == location) return Names::yes;
    superseded = superseded || entry.supersedes(location, moment());
  }
  return superseded ? Names::no : Names::unknown;
}

/// False: the list has too many entries, or may be older than what came to the other index meanwhile.
bool DeferredIndex::merge(Hash hash, Candidates& list, std::uint64_t since) const {
  const Entries entries = read(buckets_[bucket_of(hash)], hash);
  const auto superseded = [&](Location location) {
    bool is_now = false, is_old = false;
    for (const Entry& entry : entries.of) {
      if (!entry.is_of(hash)) continue;
      is_now = is_now || entry.now == location;
      is_old = is_old || entry.supersedes(location, since);
    }
    return is_old && !is_now;
  };
  const auto end = std::remove_if(list.locations, list.locations + list.size, superseded);
  list.size = static_cast<std::uint32_t>(end - list.locations);
  for (const Entry& entry : entries.of) {
    if (!entry.is_of(hash)) continue;
    if (entry.state != State::done && entry.done > since)
      return false;  // the list may be older than that batch, and name what `before` replaced
    if (entry.now == kNone) continue;
    if (std::find(list.locations, list.locations + list.size, entry.now) != list.locations + list.size) continue;
    if (list.size == kMostCandidates) return false;
    list.locations[list.size++] = entry.now;
  }
  return entries.given_up <= since;
}

void DeferredIndex::candidates(std::span<const Hash> hashes, std::span<Candidates> lists) {
  std::uint64_t since = moment();
  index_->candidates(hashes, lists);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    while (!merge(hashes[i], lists[i], since)) {  // ends: entries are given up where many keys of few buckets change
      flush();
      since = moment();
      index_->candidates(hashes.subspan(i), lists.subspan(i));
    }
  }
}

void DeferredIndex::search(std::span<const Hash> hashes, std::span<Location> locations) {
  flush_old();
  index_->search(hashes, locations);
}

/// Those of the other index.
class DeferredIndex::Searches final : public Searching {
 public:
  explicit Searches(DeferredIndex& index) : index_(index), other_(index.index_->searching()) {}
  void begin(std::span<const Hash> hashes) override {
    index_.flush_old();
    other_->begin(hashes);
  }
  void finish(std::span<Location> locations) override { other_->finish(locations); }

 private:
  DeferredIndex& index_;
  const std::unique_ptr<Searching> other_;
};

std::unique_ptr<Searching> DeferredIndex::searching() { return std::make_unique<Searches>(*this); }

/// Where changes have become rare, nothing else would send the last ones.
void DeferredIndex::flush_old() {
  if (nanoseconds() - flushed_at_.load(std::memory_order_relaxed) < std::chrono::nanoseconds(kOld).count()) return;
  flush_some();
}

}  // namespace holdfast::cuckoo
