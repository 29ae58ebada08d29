// data_steps.cpp: what each step does, and what it makes of the objects of a pool; how content is read.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "data_subject.hpp"
#include "overlap.hpp"

namespace holdfast::proof {

namespace {

constexpr std::size_t kWordStride = 700;  // words: over several pages
constexpr std::uint64_t kRegionBytes = kDataWords * kWordStride * 8;

/// "5 0 0 7", or "1,2": words, or entries.
std::vector<std::string> split(const std::string& text, char between) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; !text.empty();) {
    const std::size_t end = text.find(between, at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts, char between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : std::string(1, between)) + part;
  return text;
}

/// An entry: three words that follow from its value. In a log of 32 threads they lie 128 bytes apart.
struct DataEntry {
  std::uint64_t words[3];
  static DataEntry of(std::uint64_t value) { return {{value, value * 3, ~value}}; }
};

/// Of a log: the entries of each place that has some. "1:5,6 31:7".
using Places = std::map<unsigned, std::vector<std::string>>;

Places places_of(const std::string& text) {
  Places places;
  for (const std::string& part : split(text, ' ')) {
    const std::size_t colon = part.find(':');
    places[static_cast<unsigned>(std::stoul(part))] = split(part.substr(colon + 1), ',');
  }
  return places;
}

std::string text_of(const Places& places) {
  std::vector<std::string> parts;
  for (const auto& [place, entries] : places) {
    if (!entries.empty()) parts.push_back(std::to_string(place) + ':' + join(entries, ','));
  }
  return join(parts, ' ');
}

std::string region_text(const Region& region) {
  const auto words = region.as<std::uint64_t>();
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kDataWords; ++i) parts.push_back(std::to_string(words[i * kWordStride]));
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i % kWordStride != 0 && words[i] != 0) return "word " + std::to_string(i) + " is not zero";
  }
  return join(parts, ' ');
}

std::string log_text(const Log& log) {
  Places places;
  for (unsigned place = 0; place < log.places(); ++place) {
    for (std::uint32_t back = log.count(place); back-- > 0;) {
      DataEntry entry = {};
      const std::size_t bytes = std::min<std::size_t>(sizeof entry, log.entry_bytes());
      if (log.read(place, &entry, bytes, back) != LogStatus::ok) return "an entry cannot be read";
      const DataEntry whole = DataEntry::of(entry.words[0]);
      if (std::memcmp(&entry, &whole, bytes) != 0) return "an entry is torn";
      places[place].push_back(std::to_string(entry.words[0]));
    }
  }
  return text_of(places);
}

/// What is wrong with a saved state; empty: nothing.
std::string flaw_in(const SavedState& state) {
  if (!state.damage.empty()) return state.damage.front();
  if (state.tensors.size() != 1 || state.text != std::to_string(state.step)) return "its catalogue is another's";
  const SavedTensor& tensor = state.tensors[0];
  for (std::uint64_t i = 0; i < tensor.bytes; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, tensor.data + i, sizeof word);
    if (word != state.step * 1000 + i / 8) return "word " + std::to_string(i / 8) + " is wrong";
  }
  return {};
}

/// The newest step; each copy that counts is whole.
std::string checkpoint_text(const Checkpoint& checkpoint) {
  const std::vector<SavedCopy> copies = checkpoint.list();
  for (const SavedCopy& copy : copies) {
    const SavedState state = checkpoint.restore(nullptr, copy.sequence);
    const std::string flaw = flaw_in(state);
    if (!flaw.empty()) return "save " + std::to_string(copy.sequence) + ": " + flaw;
    if (state.step > copies.front().step) return "an older copy is newer";
  }
  try {
    const SavedState newest = checkpoint.restore();
    const std::string flaw = flaw_in(newest);
    return flaw.empty() ? std::to_string(newest.step) : flaw;
  } catch (const ObjectNotFound&) {
    return copies.empty() ? "" : "the newest copy does not count";
  }
}

/// A text "3-4": save 3 was acknowledged, and save 4 is under way.
bool is_save_between(const std::string& text, const std::string& before, const std::string& after) {
  const auto is_number = [](const std::string& of) {
    return !of.empty() && of.find_first_not_of("0123456789-") == std::string::npos;
  };
  if (!is_number(text) || !is_number(before) || !is_number(after)) return false;
  const unsigned long long saved = std::stoull(text);
  return std::stoull(before) <= saved && saved <= std::stoull(after.substr(after.find('-') + 1));
}

std::string empty_text(const std::string& name) { return name[0] == 'r' ? "0 0 0 0" : ""; }

/// A step on one object, after which it has another text.
DataStep on_object(const std::string& name, std::function<std::string(const std::string&)> change,
                   std::function<void(DataScene&)> act, bool synced = false) {
  return {[=](DataWorld world) {
            DataState& state = world.at(name);
            state = {change(state.text), synced};
            return world;
          },
          std::move(act)};
}

std::function<std::string(const std::string&)> on_place(unsigned place,
                                                        std::function<void(std::vector<std::string>&)> change) {
  return [=](const std::string& text) {
    Places places = places_of(text);
    change(places[place]);
    return text_of(places);
  };
}

std::string with_word(const std::string& text, std::size_t word, std::uint64_t value) {
  std::vector<std::string> words = split(text, ' ');
  words[word] = std::to_string(value);
  return join(words, ' ');
}

void must(LogStatus status) {
  if (status != LogStatus::ok) throw std::logic_error("a log answers " + std::to_string(static_cast<int>(status)));
}

SaveTicket begin_save(DataScene& scene, const std::string& checkpoint, std::uint64_t step, std::size_t words) {
  std::vector<std::uint64_t> data(words);
  for (std::size_t i = 0; i < words; ++i) data[i] = step * 1000 + i;
  const TensorView tensors[] = {{"a", ElementType::u64, {words}, data.data()}};
  return scene.checkpoint(checkpoint).save(step, tensors, std::to_string(step));
}

void make(Pool& pool, const std::string& name, bool overwrite) {
  if (name[0] == 'r') Region::create(pool, name, kRegionBytes, {.overwrite = overwrite});
  if (name[0] == 'c') Checkpoint::create(pool, name, {.copies = 3, .overwrite = overwrite});
  if (name[0] != 'l') return;
  const bool undoes = name == kDataUndo;
  LogOptions options = {.entry_bytes = undoes ? 16u : std::uint32_t{sizeof(DataEntry)},
                        .capacity = 4,
                        .threads = kDataThreads,
                        .overwrite = overwrite};
  if (name == "lp") options.partitions = kDataPartitions;
  Log::create(pool, name, options);
}

}  // namespace

DataScene::DataScene() = default;
DataScene::~DataScene() = default;

Region& DataScene::region(const std::string& name) {
  const auto found = regions.find(name);
  return found != regions.end() ? found->second : regions.emplace(name, Region::open(*pool, name)).first->second;
}
Log& DataScene::log(const std::string& name) {
  const auto found = logs.find(name);
  return found != logs.end() ? found->second : logs.emplace(name, Log::open(*pool, name)).first->second;
}
Checkpoint& DataScene::checkpoint(const std::string& name) {
  const auto found = checkpoints.find(name);
  if (found != checkpoints.end()) return found->second;
  return checkpoints.emplace(name, Checkpoint::open(*pool, name)).first->second;
}

void DataScene::close(const std::string& name) {
  const auto end = [&](auto& objects) {
    const auto found = objects.find(name);
    if (found == objects.end()) return;
    found->second.close();
    objects.erase(found);
  };
  end(regions);
  end(logs);
  end(checkpoints);
}

std::string content_of(DataScene& scene, const std::string& name) {
  if (name[0] == 'r') return region_text(scene.region(name));
  return name[0] == 'l' ? log_text(scene.log(name)) : checkpoint_text(scene.checkpoint(name));
}

bool is_between(const std::string& name, const std::string& text, const std::string& before, const std::string& after) {
  if (text == before || text == after) return true;
  if (name[0] == 'c') return is_save_between(text, before, after);
  if (name[0] != 'l' || text.find(':') == std::string::npos) return false;
  Places found = places_of(text), old = places_of(before), next = places_of(after);
  for (unsigned place = 0; place < kDataThreads; ++place) {
    if (found[place] != old[place] && found[place] != next[place]) return false;
  }
  return true;
}

DataStep write_word(const std::string& region, std::size_t word, std::uint64_t value) {
  return on_object(
      region, [=](const std::string& text) { return with_word(text, word, value); },
      [=](DataScene& scene) {
        const Section section = scene.region(region).section();
        std::uint64_t& to = section.as<std::uint64_t>()[word * kWordStride];
        to = value;
        section.persist(&to, sizeof to);
      });
}

DataStep insert_entry(const std::string& log, unsigned place, std::uint64_t entry) {
  return on_object(log, on_place(place, [=](auto& entries) { entries.push_back(std::to_string(entry)); }),
                   [=](DataScene& scene) { must(scene.log(log).insert(place, DataEntry::of(entry))); });
}

DataStep remove_entry(const std::string& log, unsigned place) {
  return on_object(log, on_place(place, [](auto& entries) { entries.pop_back(); }),
                   [=](DataScene& scene) { must(scene.log(log).remove(place)); });
}

DataStep clear_place(const std::string& log, unsigned place) {
  return on_object(log, on_place(place, [](auto& entries) { entries.clear(); }),
                   [=](DataScene& scene) { must(scene.log(log).clear(place)); });
}

DataStep clear_log(const std::string& log) {
  return on_object(
      log, [](const std::string&) { return std::string(); }, [=](DataScene& scene) { scene.log(log).clear(); });
}

DataStep transact(const DataUpdates& updates, bool committed) {
  return {[=](DataWorld world) {
            DataState &region = world.at(kDataRegion), &undo = world.at(kDataUndo);
            for (const auto& [word, value] : updates) {
              if (committed) region.text = with_word(region.text, word, value);
            }
            region.synced = undo.synced = false;
            return world;
          },
          [=](DataScene& scene) {
            Transaction batch(scene.log(kDataUndo), scene.region(kDataRegion));
            for (const auto& [word, value] : updates) must(batch.update(word, word * kWordStride * 8, value));
            if (committed) batch.commit();
          }};
}

DataStep recover() {
  return {[](DataWorld world) {
            world.at(kDataRegion).synced = world.at(kDataUndo).synced = false;
            return world;
          },
          [](DataScene& scene) { Transaction::recover(scene.log(kDataUndo), scene.region(kDataRegion)); }};
}

DataStep save_state(const std::string& checkpoint, std::uint64_t step, std::size_t words) {
  return on_object(
      checkpoint, [=](const std::string&) { return std::to_string(step); },
      [=](DataScene& scene) { begin_save(scene, checkpoint, step, words).wait(); }, true);
}

DataStep overlap_saves(const std::string& checkpoint, std::uint64_t step, std::size_t words) {
  return on_object(
      checkpoint, [=](const std::string&) { return std::to_string(step) + '-' + std::to_string(step + 1); },
      [=](DataScene& scene) {
        static_cast<void>(scene.checkpoint(checkpoint));
        scene.overlap.reset();
        scene.overlap = std::make_unique<Overlap>();
        const auto save = [&](std::uint64_t which) { return begin_save(scene, checkpoint, which, words); };
        scene.overlap->begin(step, step + 1, save);
      },
      true);
}

DataStep end_overlap(const std::string& checkpoint) {
  return on_object(
      checkpoint, [](const std::string& text) { return text.substr(text.find('-') + 1); },
      [](DataScene& scene) {
        if (scene.overlap == nullptr) throw std::logic_error("no saves are under way");
        scene.overlap->end();
        scene.overlap.reset();
      },
      true);
}

DataStep close_object(const std::string& name) {
  return on_object(
      name, [](const std::string& text) { return text; }, [=](DataScene& scene) { scene.close(name); }, true);
}

DataStep make_object(const std::string& name, bool overwrite) {
  return {[=](DataWorld world) {
            world[name] = {empty_text(name), true};
            return world;
          },
          [=](DataScene& scene) { make(*scene.pool, name, overwrite); }};
}

DataStep drop_object(const std::string& name) {
  return {[=](DataWorld world) {
            world.erase(name);
            return world;
          },
          [=](DataScene& scene) {
            scene.close(name);
            scene.pool->drop(name);
          }};
}

DataStep close_pool() {
  return {[](DataWorld world) {
            for (auto& object : world) object.second.synced = true;
            return world;
          },
          [](DataScene& scene) { scene.pool->close(); }};
}

}  // namespace holdfast::proof
