// data_steps.cpp: what each step does, and what it makes of the objects of a pool; how content is read.
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "data_subject.hpp"

namespace holdfast::proof {

namespace {

constexpr std::size_t kWordStride = 700;  // words: over several pages
constexpr std::uint64_t kRegionBytes = kDataWords * kWordStride * 8;

/// "5 0 0 7" or "1 2 | 3": words or entries of places.
std::vector<std::string> split(const std::string& text, const std::string& between) {
  std::vector<std::string> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(between, at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string::npos) return parts;
    at = end + between.size();
  }
}

std::string join(const std::vector<std::string>& parts, const std::string& between) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : between) + parts[i];
  return text;
}

std::string region_text(const Region& region) {
  const auto words = region.as<std::uint64_t>();
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kDataWords; ++i) parts.push_back(std::to_string(words[i * kWordStride]));
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i % kWordStride != 0 && words[i] != 0) return "word " + std::to_string(i) + " is not zero";
  }
  return join(parts, " ");
}

std::string log_text(const Log& log) {
  std::vector<std::string> places;
  for (unsigned place = 0; place < kDataPlaces; ++place) {
    std::vector<std::string> entries;
    for (std::uint32_t back = log.count(place); back-- > 0;) {
      std::uint64_t entry[2] = {};
      if (log.read(place, entry, sizeof entry, back) != LogStatus::ok) return "an entry cannot be read";
      if (entry[1] != ~entry[0]) return "an entry is torn";
      entries.push_back(std::to_string(entry[0]));
    }
    places.push_back(join(entries, ","));
  }
  for (std::uint64_t place = kDataPlaces; place < log.places(); ++place) {
    if (log.count(place) != 0) return "place " + std::to_string(place) + " has entries";
  }
  return join(places, " | ");
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

std::string empty_text(const std::string& name) {
  if (name[0] == 'r') return "0 0 0 0";
  return name[0] == 'l' ? " | " : "";
}

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
    std::vector<std::string> places = split(text, " | ");
    std::vector<std::string> entries = places[place].empty() ? std::vector<std::string>() : split(places[place], ",");
    change(entries);
    places[place] = join(entries, ",");
    return join(places, " | ");
  };
}

std::string with_word(const std::string& text, std::size_t word, std::uint64_t value) {
  std::vector<std::string> words = split(text, " ");
  words[word] = std::to_string(value);
  return join(words, " ");
}

void must(LogStatus status) {
  if (status != LogStatus::ok) throw std::logic_error("a log answers " + std::to_string(static_cast<int>(status)));
}

void make(Pool& pool, const std::string& name, bool overwrite) {
  if (name[0] == 'r') Region::create(pool, name, kRegionBytes, {.overwrite = overwrite});
  if (name[0] == 'c') Checkpoint::create(pool, name, {.copies = 3, .overwrite = overwrite});
  if (name[0] != 'l') return;
  LogOptions options = {.entry_bytes = 16, .capacity = 4, .threads = kDataPlaces, .overwrite = overwrite};
  if (name == "lp") options.partitions = kDataPlaces;
  Log::create(pool, name, options);
}

}  // namespace

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
                   [=](DataScene& scene) {
                     const std::uint64_t words[] = {entry, ~entry};
                     must(scene.log(log).insert(place, words, sizeof words));
                   });
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
      log, [](const std::string&) { return std::string(" | "); }, [=](DataScene& scene) { scene.log(log).clear(); });
}

DataStep transact(const std::string& log, const std::string& region, std::uint64_t value, bool committed) {
  return {[=](DataWorld world) {
            DataState &its = world.at(region), &undo = world.at(log);
            if (committed) its.text = with_word(with_word(its.text, 0, value), 2, value + 1);
            its.synced = undo.synced = false;
            return world;
          },
          [=](DataScene& scene) {
            Transaction batch(scene.log(log), scene.region(region));
            must(batch.update(0, 0, value));
            must(batch.update(1, 2 * kWordStride * 8, value + 1));
            if (committed) batch.commit();
          }};
}

DataStep recover(const std::string& log, const std::string& region) {
  return {[=](DataWorld world) {
            world.at(region).synced = world.at(log).synced = false;
            return world;
          },
          [=](DataScene& scene) { Transaction::recover(scene.log(log), scene.region(region)); }};
}

DataStep save_state(const std::string& checkpoint, std::uint64_t step, std::size_t words) {
  return on_object(
      checkpoint, [=](const std::string&) { return std::to_string(step); },
      [=](DataScene& scene) {
        std::vector<std::uint64_t> data(words);
        for (std::size_t i = 0; i < words; ++i) data[i] = step * 1000 + i;
        const TensorView tensors[] = {{"a", ElementType::u64, {words}, data.data()}};
        scene.checkpoint(checkpoint).save(step, tensors, std::to_string(step)).wait();
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
