// data_subject.cpp: runs the steps, and compares what a crash left of each object with what it held before and after the step.
#include "data_subject.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "pool/medium/owner.hpp"

namespace holdfast::proof {

namespace {

constexpr std::uint64_t kRegionWords = 64, kUndoThreads = 40;
constexpr std::uint32_t kEntryBytes = 24;  // of `threads`: its words lie 128 bytes apart
constexpr const char* kLogs[] = {"threads", "partitions"};

/// An entry: three words that follow from its value.
struct DataEntry {
  std::uint64_t words[kEntryBytes / 8];
  static DataEntry of(std::uint64_t value) { return {{value, value * 3, ~value}}; }
};

/// Larger with each step, so that copies get other extents.
std::vector<std::uint64_t> state_words(std::uint64_t step) {
  std::vector<std::uint64_t> words(100 + 500 * (step % 97));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = step << 32 | i;
  return words;
}

void save_in(DataScene& scene, std::uint64_t step) {
  const auto words = state_words(step);
  const TensorView tensors[] = {{"words", ElementType::u64, {words.size()}, words.data()}};
  scene.checkpoint.save(step, tensors, std::to_string(step)).wait();
}

/// All that the objects hold; adds what is torn to `wrong`.
Data data_in(DataScene& scene, std::string& wrong) {
  Data data;
  const auto words = scene.region.as<std::uint64_t>();
  data.region.assign(words.begin(), words.end());
  for (const char* const name : kLogs) {
    Log& log = scene.log(name);
    for (std::uint64_t place = 0; place < log.places(); ++place) {
      for (std::uint32_t back = log.count(place); back-- > 0;) {
        DataEntry entry = {};
        log.read(place, &entry, sizeof entry, back);
        const DataEntry whole = DataEntry::of(entry.words[0]);
        if (std::memcmp(&entry, &whole, sizeof entry) != 0) wrong += std::string("an entry of ") + name + " is torn; ";
        data.entries[{name, place}].push_back(entry.words[0]);
      }
    }
  }
  for (const SavedCopy& copy : scene.checkpoint.list()) {
    const SavedState saved = scene.checkpoint.restore(nullptr, copy.sequence);
    const auto expected = state_words(saved.step);
    if (saved.step != copy.step || saved.tensors.at(0).bytes != expected.size() * 8 ||
        std::memcmp(saved.tensors[0].data, expected.data(), expected.size() * 8) != 0) {
      wrong += "the state of step " + std::to_string(saved.step) + " is not what was saved; ";
    }
    data.saves.push_back(saved.step);
  }
  if (data.saves.empty()) return data;
  const SavedState newest = scene.checkpoint.restore();
  if (!newest.damage.empty()) wrong += "a copy that counts is damaged: " + newest.damage[0] + "; ";
  data.step = newest.step;
  return data;
}

/// Each object is as before or after the step.
std::string compare_data(const Data& found, const Data& before, const Data& after) {
  if (found.region != before.region && found.region != after.region) return "the region has parts of a batch";
  for (const char* const name : kLogs) {
    for (std::uint64_t place = 0; place < 32; ++place) {
      const auto of = [&](const Data& data) {
        const auto at = data.entries.find({name, place});
        return at == data.entries.end() ? std::vector<std::uint64_t>() : at->second;
      };
      if (of(found) == of(before) || of(found) == of(after)) continue;
      return std::string("place ") + std::to_string(place) + " of " + name + " has " +
             std::to_string(of(found).size()) + " entries, and not those of before or after";
    }
  }
  if (found.step == before.step || found.step == after.step) return {};
  return "the newest state is of step " + std::to_string(found.step) + ", and not " + std::to_string(before.step);
}

std::string pool_path(const std::string& folder) { return folder + "/a.hold"; }

}  // namespace

DataScene::DataScene(const std::string& folder)
    : pool(Pool::open(pool_path(folder))),
      region(Region::open(pool, "region")),
      undo(Log::open(pool, "undo")),
      threads(Log::open(pool, "threads")),
      partitions(Log::open(pool, "partitions")),
      checkpoint(Checkpoint::open(pool, "checkpoint")),
      undone(Transaction::recover(undo, region)) {}

DataStep append(const std::string& log, std::uint64_t place, std::uint64_t value) {
  return {[=](DataScene& scene) { scene.log(log).insert(place, DataEntry::of(value)); },
          [=](Data& data) {
            data.entries[{log, place}].push_back(value);
          }};
}
DataStep remove_newest(const std::string& log, std::uint64_t place) {
  return {[=](DataScene& scene) { scene.log(log).remove(place); },
          [=](Data& data) {
            data.entries[{log, place}].pop_back();
          }};
}
DataStep clear_place(const std::string& log, std::uint64_t place) {
  return {[=](DataScene& scene) { scene.log(log).clear(place); },
          [=](Data& data) {
            data.entries[{log, place}].clear();
          }};
}
DataStep clear_log(const std::string& log) {
  return {
      [=](DataScene& scene) { scene.log(log).clear(); },
      [=](Data& data) { std::erase_if(data.entries, [&](const auto& place) { return place.first.first == log; }); }};
}

DataStep write_word(std::uint64_t word, std::uint64_t value) {
  return {[=](DataScene& scene) {
            const Section section = scene.region.section(Domain::process);
            section.as<std::uint64_t>()[word] = value;
            section.persist(&section.as<std::uint64_t>()[word], 8);
          },
          [=](Data& data) { data.region[word] = value; }};
}

DataStep transact(const Updates& updates, bool commits) {
  return {[=](DataScene& scene) {
            Transaction batch(scene.undo, scene.region);
            for (std::size_t i = 0; i < updates.size(); ++i) {
              batch.update(updates[i].first % kUndoThreads, updates[i].first * 8, updates[i].second);
            }
            if (commits) batch.commit();
          },
          [=](Data& data) {
            for (const auto& [word, value] : updates) data.region[word] = commits ? value : data.region[word];
          }};
}

DataStep save_state(std::uint64_t step) {
  return {[=](DataScene& scene) { save_in(scene, step); }, [=](Data& data) { data.step = step; }};
}

DataStep close_pool() {
  return {[](DataScene& scene) { scene.pool.close(); }, [](Data&) {}};
}

void DataSubject::prepare(const std::string& folder) {
  {
    Pool pool = Pool::create(pool_path(folder));
    Region::create(pool, "region", kRegionWords * 8);
    Log::create(pool, "undo", {.entry_bytes = 16, .capacity = 2, .threads = kUndoThreads});
    Log::create(pool, "threads", {.entry_bytes = kEntryBytes, .capacity = 3, .threads = 32});
    Log::create(pool, "partitions", {.entry_bytes = kEntryBytes, .capacity = 3, .partitions = 3});
    Checkpoint::create(pool, "checkpoint", {.copies = 3});
  }
  DataScene scene(folder);
  Data first{.region = std::vector<std::uint64_t>(kRegionWords)};
  for (const DataStep& step : {append("threads", 1, 5), append("partitions", 1, 6), append("partitions", 2, 7),
                               transact({{0, 10}, {1, 11}, {9, 12}}), save_state(1)}) {
    step.act(scene);
    step.change(first);
  }
  states_ = {first};
  for (const DataStep& step : steps_) {
    states_.push_back(states_.back());
    step.change(states_.back());
  }
  states_.push_back(states_.back());
}

void DataSubject::run(const std::string& folder, const std::function<void()>& said) {
  DataScene scene(folder);
  for (const DataStep& step : steps_) {
    step.act(scene);
    said();
  }
}

std::string DataSubject::check(const std::string& folder, unsigned steps, Crash) {
  try {
    DataScene scene(folder);
    std::string wrong;
    const Data found = data_in(scene, wrong);
    wrong += compare_data(found, states_[steps], states_[std::min<std::size_t>(steps + 1, states_.size() - 1)]);
    if (Transaction::recover(scene.undo, scene.region)) wrong += "a batch was undone twice; ";
    for (const std::string& error : scene.pool.check().errors) wrong += error + "; ";
    return wrong;
  } catch (const Error& error) {
    return std::string("does not open: ") + error.what();
  }
}

std::string DataSubject::go_on(const std::string& folder) {
  try {
    std::string wrong;
    Data expected;
    std::uint64_t saved = 0;
    {
      DataScene scene(folder);
      expected = data_in(scene, wrong);
      saved = expected.step + 100;
      for (const DataStep& step :
           {clear_place("threads", 3), append("threads", 3, 90), append("threads", 3, 91), clear_place("partitions", 2),
            append("partitions", 2, 92), transact({{0, 93}, {63, 94}}), save_state(saved), save_state(saved + 1)}) {
        step.act(scene);
        step.change(expected);
      }
    }
    DataScene scene(folder);
    const Data found = data_in(scene, wrong);
    for (const std::uint64_t step : found.saves) {
      const auto& before = expected.saves;
      if (step < saved && std::find(before.begin(), before.end(), step) == before.end()) {
        wrong += "the state of step " + std::to_string(step) + ", which never counted, is given later; ";
      }
    }
    return wrong + compare_data(found, expected, expected);
  } catch (const Error& error) {
    return std::string("used further: ") + error.what();
  }
}

std::vector<Range> DataSubject::meaningless() const { return {{memory::kOwnerOffset, sizeof(memory::OwnerNote)}}; }

}  // namespace holdfast::proof
