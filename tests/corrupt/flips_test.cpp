// flips_test.cpp: what a flipped bit does to each kind of stored bytes: noticed, harmless, or a wrong answer. What has a checksum
// gives none. HOLDFAST_FLIPS=200 flips so many bits of each kind, and HOLDFAST_RESULTS=folder keeps the counts (scripts/flips).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "data_objects.hpp"
#include "fixture.hpp"
#include "holdfast/checkpoint.hpp"
#include "holdfast/log.hpp"
#include "holdfast/strings.hpp"
#include "holdfast/table.hpp"
#include "holdfast/transaction.hpp"
#include "log/log_header.hpp"
#include "proof/recorder.hpp"
#include "proof/runs/results.hpp"
#include "support/pages.hpp"
#include "support/pool_bytes.hpp"
#include "support/random.hpp"

namespace holdfast::test::corrupt {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kItems = 60;

enum class Answer { right, noticed, wrong };

/// Bytes of one kind in a pool file.
struct Kind {
  std::string name;
  bool has_checksum;
  std::string bytes;                       ///< of the file
  std::vector<std::uint64_t> places = {};  ///< of the kind's bytes in it
  bool killed = false;  ///< its machine is the pretended one of data_objects.cpp, else the file would be refused
  std::function<Answer(const std::string& path)> ask = {};  ///< Errors are for the caller
};

OpenOptions on_cpu(bool verify) {
  OpenOptions options;
  options.runtime = {.device = "cpu", .threads = 1, .verify = verify};
  return options;
}

std::string random_bytes(Random& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(255) + 1);
  return bytes;
}

/// Adds the places of `pattern`, which is in the file once, with `before` bytes in front of it.
void add_places(Kind& kind, const std::string& pattern, std::size_t before = 0) {
  const std::size_t at = kind.bytes.find(pattern);
  ASSERT_NE(at, std::string::npos) << kind.name;
  ASSERT_EQ(kind.bytes.find(pattern, at + 1), std::string::npos) << kind.name;
  for (std::size_t i = at - before; i < at + pattern.size(); ++i) kind.places.push_back(i);
}

template <class Act>
auto on_its_machine(const Kind& kind, const Act& act) {
  std::optional<proof::Pretender> machine;
  std::optional<proof::Watch> watch;
  if (kind.killed) watch.emplace(machine.emplace(proof::Pretence{.on_disk = false}));
  return act();
}

bool check_reports(const Kind& kind, const std::string& path) {
  try {
    return on_its_machine(kind, [&] { return !check(path).errors.empty(); });
  } catch (const Error&) {
    return true;
  }
}

/// Keys and values of fixed size: bits of slots, or of the cells that they name.
Kind fixed_kind(const std::string& path, std::uint32_t value_bytes, bool cells) {
  Random random(value_bytes);
  std::vector<std::uint64_t> keys(kItems);
  std::string values;
  for (std::uint64_t& key : keys) std::memcpy(&key, random_bytes(random, 8).data(), 8);
  values = random_bytes(random, kItems * value_bytes);
  Table table = Table::create(path, {.shape = {.value_bytes = value_bytes, .capacity = 200, .seed = 1},
                                     .runtime = {.device = "cpu", .threads = 1},
                                     .overwrite = true});
  table.insert(keys.data(), values.data(), kItems);
  table.close();
  Kind kind{.name = cells ? "cells" : "slots", .has_checksum = false, .bytes = read_file(path)};
  for (unsigned i = 0; i < kItems; ++i) {
    if (cells) {
      add_places(kind, values.substr(std::size_t{i} * value_bytes, value_bytes));
    } else {
      const std::string key(reinterpret_cast<const char*>(&keys[i]), 8);
      add_places(kind, key + values.substr(std::size_t{i} * value_bytes, value_bytes));
    }
  }
  kind.ask = [keys, values, value_bytes](const std::string& damaged) {
    Table read = Table::open(damaged, on_cpu(false));
    std::string got(values.size(), '\0');
    const auto found = std::make_unique<bool[]>(kItems);
    read.find(keys.data(), got.data(), kItems, found.get());
    const bool all = std::all_of(found.get(), found.get() + kItems, [](bool one) { return one; });
    return all && got == values && read.size() == kItems ? Answer::right : Answer::wrong;
  };
  return kind;
}

/// Keys and values of any length: bits of lengths, checksums, keys and values.
Kind pairs_kind(const std::string& path, bool verify) {
  Random random(7);
  std::vector<std::string> keys, values;
  for (unsigned i = 0; i < kItems; ++i) {
    keys.push_back(random_bytes(random, 8 + random.below(30)));
    values.push_back(random_bytes(random, 8 + random.below(200)));
  }
  Table table = Table::create(
      path, {.shape = {.key_bytes = kVariableBytes, .value_bytes = kVariableBytes, .capacity = 200, .seed = 1},
             .runtime = {.device = "cpu", .threads = 1},
             .overwrite = true});
  table.insert(keys, values);
  table.close();
  Kind kind{.name = verify ? "any_length" : "any_length_unverified", .has_checksum = verify, .bytes = read_file(path)};
  for (unsigned i = 0; i < kItems; ++i) add_places(kind, keys[i] + values[i], 16);
  kind.ask = [keys, values, verify](const std::string& damaged) {
    Table read = Table::open(damaged, on_cpu(verify));
    Blobs got;
    read.find(keys, got);
    for (unsigned i = 0; i < kItems; ++i) {
      if (!got.has(i) || got[i] != values[i]) return Answer::wrong;
    }
    return Answer::right;
  };
  return kind;
}

/// Two saves. After damage of the newer one the older is given, which `damage` says.
Kind checkpoint_kind(const std::string& path) {
  Random random(11);
  const std::string first = random_bytes(random, 4096), second = random_bytes(random, 4096);
  {
    Pool pool = Pool::create(path, true);
    Checkpoint checkpoint = Checkpoint::create(pool, "model");
    for (const auto& [step, data] : {std::pair{std::uint64_t{1}, &first}, {std::uint64_t{2}, &second}}) {
      const TensorView tensor{"weights", ElementType::u8, {data->size()}, data->data()};
      checkpoint.save(step, std::span(&tensor, 1), "text of step").wait();
    }
    checkpoint.close();
    pool.close();
  }
  Kind kind{.name = "checkpoints", .has_checksum = true, .bytes = read_file(path)};
  // All that the newer save wrote: its header, catalogue and checksums lie around its tensor.
  const ExtentInfo* extent = nullptr;
  const std::vector<ObjectInfo> objects = inspect(path).objects;
  const std::uint64_t data = kind.bytes.find(second);
  for (const ExtentInfo& one : objects.at(0).extents) {
    if (data >= one.offset && data < one.offset + one.bytes) extent = &one;
  }
  for (std::uint64_t at = extent->offset; at < extent->offset + extent->bytes; ++at) {
    if (kind.bytes[at] != 0) kind.places.push_back(at);
  }
  kind.ask = [second, first](const std::string& damaged) {
    Pool pool = Pool::open(damaged);
    const SavedState state = Checkpoint::open(pool, "model").restore();
    const std::string& expected = state.step == 2 ? second : first;
    const bool same = state.tensors.size() == 1 && state.tensors[0].name == "weights" &&
                      state.tensors[0].bytes == expected.size() && state.text == "text of step" &&
                      std::memcmp(state.tensors[0].data, expected.data(), expected.size()) == 0;
    if (!same || (state.step != 2 && state.damage.empty())) return Answer::wrong;
    return state.damage.empty() ? Answer::right : Answer::noticed;
  };
  return kind;
}

constexpr std::uint32_t kEntryBytes = 16;

/// A log's tails have a check, its entries have none.
Kind log_kind(const std::string& path, bool tails) {
  Random random(13);
  constexpr std::uint32_t kPlaces = 8, kEntries = 5;
  std::vector<std::string> entries;
  {
    Pool pool = Pool::create(path, true);
    Log log = Log::create(pool, "log", {.entry_bytes = kEntryBytes, .capacity = 8, .partitions = kPlaces});
    for (unsigned i = 0; i < kPlaces * kEntries; ++i) {
      entries.push_back(random_bytes(random, kEntryBytes));
      log.insert(i / kEntries, entries.back().data(), kEntryBytes);
    }
    log.close();
    pool.close();
  }
  Kind kind{.name = tails ? "log_tails" : "log_entries", .has_checksum = tails, .bytes = read_file(path)};
  if (tails) {
    std::string all;
    for (unsigned i = 0; i < kPlaces; ++i) all += std::string({'\5', '\0', '\0', '\5'});
    add_places(kind, all);
  } else {
    for (const std::string& entry : entries) add_places(kind, entry);
  }
  kind.ask = [entries](const std::string& damaged) {
    Pool pool = Pool::open(damaged);
    const Log log = Log::open(pool, "log");
    for (unsigned i = 0; i < kPlaces * kEntries; ++i) {
      std::string got(kEntryBytes, '\0');
      const LogStatus status = log.read(i / kEntries, got.data(), kEntryBytes, kEntries - 1 - i % kEntries);
      if (log.count(i / kEntries) != kEntries || status != LogStatus::ok || got != entries[i]) return Answer::wrong;
    }
    return Answer::right;
  };
  return kind;
}

/// A transaction that a kill ended: flag and tails of its log, which have check bits, or its undo records.
Kind undo_kind(bool entries) {
  Kind kind{.name = entries ? "undo_entries" : "undo_flag_and_tails",
            .has_checksum = !entries,
            .bytes = data_bytes(),
            .killed = true};
  const pool::Extent extent = directory_in(kind.bytes).extents_of(kUndo, log::kDataRole).at(0);
  const std::uint64_t middle = extent.offset + log::entries_at(undo_shape());
  const std::uint64_t end = entries ? extent.offset + extent.bytes : middle;
  for (std::uint64_t at = entries ? middle : extent.offset; at < end; at += 4) {
    if (kind.bytes.compare(at, 4, std::string(4, '\0')) == 0) continue;
    for (unsigned i = 0; i < 4; ++i) kind.places.push_back(at + i);
  }
  kind.ask = [](const std::string& damaged) {
    Pool pool = Pool::open(damaged);
    Region region = Region::open(pool, std::to_string(kRegion));
    Log log = Log::open(pool, std::to_string(kUndo));
    const bool undone = Transaction::recover(log, region);
    const auto* const words = reinterpret_cast<const std::uint64_t*>(region.bytes().data());
    for (std::uint64_t i = 0; i < kRegionWords; ++i) {
      if (words[i] != i * i) return Answer::wrong;
    }
    return undone ? Answer::right : Answer::wrong;
  };
  return kind;
}

struct FlipCounts {
  std::uint64_t flips = 0, noticed = 0, harmless = 0, wrong = 0, wrong_but_check_reports = 0;
};

Answer answer_of(const Kind& kind, const std::string& path) {
  try {
    return on_its_machine(kind, [&] { return kind.ask(path); });
  } catch (const Error&) {
    return Answer::noticed;
  }
}

/// Flips bits of what the kind stores; a crash or a hang fails the test, and so does a wrong answer that a checksum could have shown.
FlipCounts flip_bits(const Kind& kind, unsigned flips, const std::string& path) {
  const std::string packed = pack_pages(kind.bytes);
  Random random(flips);
  std::vector<std::uint64_t> bits;
  for (unsigned i = 0; i < flips; ++i)
    bits.push_back(kind.places[random.below(kind.places.size())] * 8 + random.below(8));
  const auto write_flipped = [&](std::uint64_t i) {
    write_pages(path, packed);
    std::string byte(1, kind.bytes[bits[i] / 8]);
    flip(byte, bits[i] % 8);
    write_at(path, bits[i] / 8, byte);
  };
  const auto name = [&](std::uint64_t i) { return kind.name + ", " + bit_name(bits[i]); };
  const auto ask = [&](std::uint64_t i) {
    write_flipped(i);
    const Answer answer = answer_of(kind, path);
    return Outcome{.opened = answer == Answer::wrong,
                   .reported = answer == Answer::noticed,
                   .wrong = answer == Answer::wrong && kind.has_checksum ? "a wrong answer, unnoticed" : ""};
  };
  const Tally answers = run_cases(flips, ask, name);
  for (const std::string& line : answers.wrong) ADD_FAILURE() << line;
  FlipCounts counts{.flips = flips, .noticed = answers.reported, .wrong = answers.opened};
  counts.harmless = flips - counts.noticed - counts.wrong;
  if (counts.wrong == 0) return counts;
  const auto check = [&](std::uint64_t i) {
    write_flipped(i);
    const bool wrong = answer_of(kind, path) == Answer::wrong;
    write_flipped(i);  // asking may have mended it
    return Outcome{.opened = wrong && check_reports(kind, path), .reported = false, .wrong = ""};
  };
  const Tally checks = run_cases(flips, check, name);
  for (const std::string& line : checks.wrong) ADD_FAILURE() << line;
  counts.wrong_but_check_reports = checks.opened;
  return counts;
}

TEST(Flips, NothingWithAChecksumAnswersWrongUnnoticed) {
  const char* const asked = std::getenv("HOLDFAST_FLIPS");
  const unsigned flips = asked != nullptr ? static_cast<unsigned>(std::stoul(asked)) : 25;
  const std::string path = pool_path() + "-flips", made = path + "-made";
  std::vector<std::pair<std::string, proof::Results::Row>> rows;
  for (const auto& make : std::vector<std::function<Kind()>>{
           [&] { return fixed_kind(made, 8, false); }, [&] { return fixed_kind(made, 64, true); },
           [&] { return pairs_kind(made, true); }, [&] { return pairs_kind(made, false); },
           [&] { return checkpoint_kind(made); }, [&] { return log_kind(made, true); },
           [&] { return log_kind(made, false); }, [] { return undo_kind(false); }, [] { return undo_kind(true); }}) {
    const Kind kind = make();
    write_pages(path, pack_pages(kind.bytes));
    ASSERT_EQ(answer_of(kind, path), Answer::right) << kind.name << ", undamaged";
    write_pages(path, pack_pages(kind.bytes));
    ASSERT_FALSE(check_reports(kind, path)) << kind.name << ", undamaged";
    const FlipCounts counts = flip_bits(kind, flips, path);
    EXPECT_TRUE(!kind.has_checksum || counts.noticed > flips / 2) << kind.name;
    rows.push_back({kind.name,
                    {{"flips", counts.flips},
                     {"noticed", counts.noticed},
                     {"harmless", counts.harmless},
                     {"wrong", counts.wrong},
                     {"wrong_but_check_reports", counts.wrong_but_check_reports}}});
  }
  fs::remove(path);
  fs::remove(made);
  const char* const folder = std::getenv("HOLDFAST_RESULTS");
  if (asked == nullptr || folder == nullptr) return;
  proof::Results results("holdfast.flips/1");
  results.add("kinds", rows);
  std::printf("written to %s\n", results.write(folder, "flips.json").c_str());
}

}  // namespace
}  // namespace holdfast::test::corrupt
