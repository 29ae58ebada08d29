// data_objects.cpp: makes the pool, and uses a damaged copy of it.
#include "data_objects.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "fixture.hpp"
#include "holdfast/checkpoint.hpp"
#include "holdfast/table.hpp"
#include "holdfast/transaction.hpp"
#include "proof/recorder.hpp"

namespace holdfast::test::corrupt {

namespace {

constexpr std::uint64_t kStateWords = 9000;  // of 8 bytes: two blocks

/// An entry of a log: it tells by itself whether it is whole.
struct Entry {
  std::uint64_t value, again;
  static Entry of(std::uint64_t value) { return {value, ~value}; }
};

std::uint64_t state_word(std::uint64_t step, std::uint64_t at) { return step * 1'000'003 + at; }

void save(Checkpoint& checkpoint, std::uint64_t step) {
  std::vector<std::uint64_t> words(kStateWords);
  for (std::uint64_t i = 0; i < kStateWords; ++i) words[i] = state_word(step, i);
  const TensorView tensors[] = {{"few", ElementType::u64, {10}, words.data()},
                                {"many", ElementType::u64, {kStateWords - 10}, &words[10]}};
  checkpoint.save(step, tensors, std::to_string(step)).wait();
}

std::string flaw_of(const SavedState& state) {
  if (state.tensors.size() != 2 || state.text != std::to_string(state.step)) return "a catalogue is wrong; ";
  for (std::uint64_t i = 0; i < kStateWords; ++i) {
    const SavedTensor& tensor = state.tensors[i < 10 ? 0 : 1];
    std::uint64_t word = 0;
    std::memcpy(&word, tensor.data + 8 * (i < 10 ? i : i - 10), sizeof word);
    if (word != state_word(state.step, i)) return "a state is wrong, and is given; ";
  }
  return {};
}

bool is_as_before(const Region& region) {
  for (std::uint64_t i = 0; i < kRegionWords; ++i) {
    if (region.as<std::uint64_t>()[i] != i * i) return false;
  }
  return true;
}

void use_transaction(Pool& pool, Found& found, bool may_be_wrong) {
  Region region = Region::open(pool, "1");
  Log log = Log::open(pool, "2");
  const std::string before(reinterpret_cast<const char*>(region.bytes().data()), region.bytes().size());
  try {
    found.undone = Transaction::recover(log, region);
  } catch (const Error&) {
    const std::string after(reinterpret_cast<const char*>(region.bytes().data()), region.bytes().size());
    if (before != after) found.wrong("what could not be undone is changed");
    throw;
  }
  if (!may_be_wrong && !(found.undone && is_as_before(region)))
    found.wrong("an update is not undone, and nothing is said");
  Transaction batch(log, region);
  if (batch.update(1, 8, std::uint64_t{5}) != LogStatus::ok) found.wrong("there is no further transaction");
  batch.commit();
}

void use_log(Pool& pool, const std::string& name, Found& found, bool may_be_wrong) {
  Log log = Log::open(pool, name);
  for (std::uint64_t place = 0; place < log.places(); ++place) {
    const std::uint32_t count = log.count(place);
    if (!may_be_wrong && count != (place < 3 ? place + 1 : 0))
      found.wrong("place " + std::to_string(place) + " has others");
    for (std::uint32_t back = 0; back < count; ++back) {
      Entry entry = {};
      if (log.read(place, &entry, sizeof entry, back) != LogStatus::ok) found.wrong("an entry cannot be read");
      if (!may_be_wrong && entry.value != 10 * place + place - back) found.wrong("an entry is another");
      if (!may_be_wrong && entry.again != ~entry.value) found.wrong("an entry is torn");
    }
    if (count == log.capacity()) log.remove(place);
    Entry entry = {};
    if (log.insert(place, Entry::of(99)) != LogStatus::ok || log.read(place, &entry, sizeof entry) != LogStatus::ok ||
        entry.value != 99 || entry.again != ~std::uint64_t{99}) {
      found.wrong("an insert is not read back");
    }
  }
}

void use_checkpoint(Pool& pool, Found& found) {
  Checkpoint checkpoint = Checkpoint::open(pool, "5");
  for (const SavedCopy& copy : checkpoint.list()) {
    try {
      found.outcome.wrong += flaw_of(checkpoint.restore(nullptr, copy.sequence));
    } catch (const PoolCorrupt&) {
    }
  }
  try {
    const SavedState state = checkpoint.restore();
    found.outcome.wrong += flaw_of(state);
    found.step = state.step;
    if (state.step != kNewest && state.damage.empty()) found.wrong("an older state is given, and nothing is said");
    if (!state.damage.empty()) found.outcome.reported = true;
  } catch (const Error& error) {
    found.refused[kCheckpoint] = error.what();
    found.outcome.reported = true;
  }
  for (const std::uint64_t step : {50u, 51u}) {
    save(checkpoint, step);
    const SavedState state = checkpoint.restore();
    found.outcome.wrong += flaw_of(state);
    if (state.step != step || !state.damage.empty()) found.wrong("what is saved then is not given");
  }
}

}  // namespace

const std::string& data_bytes() {
  static const std::string bytes = [] {
    std::filesystem::remove(pool_path());
    proof::Pretender machine({.on_disk = false});
    const proof::Watch watch(machine);
    Pool pool = Pool::create(pool_path());
    Region region = Region::create(pool, "1", kRegionWords * 8);
    Log undo = Log::create(pool, "2", {.entry_bytes = 16, .capacity = kUpdates + 1, .threads = 64});
    Log threads = Log::create(pool, "3", {.entry_bytes = sizeof(Entry), .capacity = 4, .threads = 40});
    Log partitions = Log::create(pool, "4", {.entry_bytes = sizeof(Entry), .capacity = 4, .partitions = 3});
    Checkpoint checkpoint = Checkpoint::create(pool, "5", {.copies = 3});
    Region neighbour = Region::create(pool, "6", kRegionWords * 8);
    for (Region* const each : {&region, &neighbour}) {
      const Section section = each->section();
      for (std::uint64_t i = 0; i < kRegionWords; ++i) section.as<std::uint64_t>()[i] = i * i;
    }
    for (std::uint64_t place = 0; place < 3; ++place) {
      for (std::uint64_t i = 0; i <= place; ++i) {
        threads.insert(place, Entry::of(10 * place + i));
        partitions.insert(place, Entry::of(10 * place + i));
      }
    }
    for (std::uint64_t step = 1; step <= kNewest; ++step) save(checkpoint, step);
    Transaction batch(undo, region);
    for (unsigned i = 0; i < kUpdates; ++i) {
      batch.update(0, 8 * (5 + i), std::uint64_t{777});
      batch.update(33, 8 * (700 + i), std::uint64_t{888});
    }
    return read_file(pool_path());
  }();
  return bytes;
}

Found use(const std::string& bytes, std::uint32_t victim, bool on_disk) {
  const std::string path = pool_path() + "-case";
  write_file(path, bytes);
  proof::Pretender machine({.on_disk = on_disk});
  const proof::Watch watch(machine);
  Found found;
  const auto attempt = [&](std::uint32_t number, const auto& act) {
    try {
      act();
    } catch (const Error& error) {
      found.refused[number] = error.what();
      found.outcome.reported = true;
    }
  };
  for (const bool read_only : {true, false}) {
    Pool pool = Pool::open(path, {.read_only = read_only});
    found.outcome.opened = true;
    if (read_only) {
      attempt(kCheckpoint, [&] { Checkpoint::open(pool, "5").restore(); });
      found.refused.clear();
      continue;
    }
    attempt(kUndo, [&] { use_transaction(pool, found, victim == kUndo || victim == kRegion); });
    for (const std::uint32_t number : {kThreads, kPartitions}) {
      attempt(number, [&] { use_log(pool, std::to_string(number), found, victim == number); });
    }
    attempt(kCheckpoint, [&] { use_checkpoint(pool, found); });
    attempt(kNeighbour, [&] {
      if (!is_as_before(Region::open(pool, "6")) && victim != kNeighbour) found.wrong("another object is changed");
    });
    for (const auto& [number, what] : found.refused) {
      if (number != victim && !(number == kUndo && victim == kRegion))
        found.wrong(std::to_string(number) + " is refused: " + what);
    }
    for (const std::string& error : pool.check().errors) {
      const auto names = [&](std::uint32_t number) { return error.starts_with(path + ":" + std::to_string(number)); };
      const auto is_of = [&](const auto& refused) { return names(refused.first); };
      if (!names(victim) && std::none_of(found.refused.begin(), found.refused.end(), is_of)) {
        found.wrong("check finds more: " + error);
      }
    }
  }
  return found;
}

}  // namespace holdfast::test::corrupt
