// restoring.cpp: the newest copy that verifies: as it lies in the pool, or into arrays of the CPU and of a GPU.
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "checkpoint/blocks.hpp"
#include "checkpoint/checkpoint_object.hpp"
#include "holdfast/error.hpp"

namespace holdfast::checkpoint {

namespace {

/// A block, and the first of `tensors`, sorted by offset, that has a part of it.
std::string damaged(std::uint64_t block, const Catalogue& found, const std::vector<std::size_t>& tensors) {
  const auto has = [&](std::size_t i) { return blocks_of(found.offsets[i] + found.tensors[i].bytes) > block; };
  const auto first = std::find_if(tensors.begin(), tensors.end(), has);
  return "block " + std::to_string(block) + " is damaged" +
         (first == tensors.end() ? "" : ", in tensor \"" + found.tensors[*first].name + "\"");
}

/// What is damaged in the blocks of these tensors, which are sorted by offset and not empty; empty: nothing.
std::string damage_in(const CopyParts& parts, const Catalogue& found, const std::vector<std::size_t>& tensors) {
  const auto first_of = [&](std::size_t i) { return found.offsets[tensors[i]] / kBlock; };
  const auto end_of = [&](std::size_t i) {
    return blocks_of(found.offsets[tensors[i]] + found.tensors[tensors[i]].bytes);
  };
  std::uint64_t end = 0;  // of the blocks that were looked at
  for (std::size_t i = 0; i < tensors.size();) {
    const std::uint64_t begin = std::max(end, first_of(i));
    for (end = std::max(end, end_of(i)), ++i; i < tensors.size() && first_of(i) <= end; ++i) end = end_of(i);
    const auto block = damaged_block(parts.data, parts.data_bytes, begin, end, parts.sums);
    if (block) return damaged(*block, found, tensors);
  }
  return {};
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const std::uint64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + ")";
}

/// Where the bytes of a state go.
struct Targets {
  std::vector<std::size_t> on_host, on_device, all;  ///< tensors of the catalogue; the first two without empty ones
  std::vector<void*> host;
  std::vector<Placed> device;
};

using Matches = std::vector<const TensorView*>;  ///< for each tensor of a catalogue the one of its name, or null

/// Tensors that come in the order of the catalogue, as those that were saved do: without a table of names, which for 20,000 small
/// ones takes as long as the link. False: they come in another order.
bool match_in_order(const Catalogue& found, std::span<const TensorView> tensors, Matches& matches) {
  Matches in_order;
  in_order.reserve(tensors.size());
  for (const bool on_device : {true, false}) {
    for (const TensorView& tensor : tensors) {
      if (tensor.on_device == on_device) in_order.push_back(&tensor);
    }
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < matches.size() && next < in_order.size(); ++i) {
    if (found.tensors[i].name == in_order[next]->name) matches[i] = in_order[next++];
  }
  return next == in_order.size();
}

Matches matches_of(const Catalogue& found, std::span<const TensorView> tensors, const std::string& path) {
  Matches matches(found.tensors.size());
  if (match_in_order(found, tensors, matches)) return matches;
  std::unordered_map<std::string_view, const TensorView*> by_name;
  by_name.reserve(tensors.size());
  for (const TensorView& tensor : tensors) {
    if (!by_name.emplace(tensor.name, &tensor).second) {
      throw InvalidArgument("two tensors have the name \"" + tensor.name + "\": give each its own");
    }
  }
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const auto named = by_name.find(found.tensors[i].name);
    matches[i] = named == by_name.end() ? nullptr : named->second;
    if (matches[i] != nullptr) by_name.erase(named);
  }
  if (!by_name.empty()) {
    throw PoolMismatch(path + " has no tensor \"" + std::string(by_name.begin()->first) +
                       "\" in what was saved: register what it has");
  }
  return matches;
}

Targets targets_of(const Catalogue& found, std::span<const TensorView> tensors, const std::string& path) {
  const Matches matches = matches_of(found, tensors, path);
  Targets made;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (matches[i] == nullptr) continue;
    const SavedTensor& saved = found.tensors[i];
    const TensorView& to = *matches[i];
    if (to.element != saved.element || to.shape != saved.shape) {
      throw PoolMismatch(path + " has the tensor \"" + saved.name + "\" with elements " + name(saved.element) +
                         " in the shape " + shape_text(saved.shape) + ", which is not what was registered: elements " +
                         name(to.element) + " in the shape " + shape_text(to.shape));
    }
    made.all.push_back(i);
    if (saved.bytes == 0) continue;
    (to.on_device ? made.on_device : made.on_host).push_back(i);
    void* const data = const_cast<void*>(to.data);
    if (to.on_device) {
      made.device.push_back({static_cast<std::byte*>(data), found.offsets[i], saved.bytes});
    } else {
      made.host.push_back(data);
    }
  }
  return made;
}

}  // namespace

SavedState CheckpointObject::restore(const std::function<bool(const SavedTensor&)>& wanted, std::uint64_t sequence) {
  const auto take = [&](Source& source, SavedState& state) {
    std::vector<SavedTensor>& tensors = source.catalogue.tensors;
    std::vector<std::size_t> verified;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].bytes != 0 && (!wanted || wanted(tensors[i]))) verified.push_back(i);
    }
    std::string damage = damage_in(source.parts, source.catalogue, verified);
    if (wanted) std::erase_if(tensors, [&](const SavedTensor& tensor) { return !wanted(tensor); });
    state.tensors = std::move(tensors);
    return damage;
  };
  return newest(take, sequence);
}

SavedState CheckpointObject::restore_to(const TensorsFor& place, void* stream, std::uint64_t sequence) {
  const auto take = [&](Source& source, SavedState& state) {
    Catalogue& found = source.catalogue;
    state.tensors.swap(found.tensors);
    const std::span<const TensorView> tensors = place(state);
    state.tensors.swap(found.tensors);
    const Targets targets = targets_of(found, tensors, path());
    if (std::string damage = damage_in(source.parts, found, targets.on_host); !damage.empty()) return damage;
    if (!targets.device.empty()) {
      device().map(source.range.address, source.range.mapped, read_only());
      const auto block = device().load(targets.device, source.parts, stream);
      if (block) return damaged(*block, found, targets.on_device);
    }
    for (std::size_t i = 0; i < targets.host.size(); ++i) {
      const SavedTensor& saved = found.tensors[targets.on_host[i]];
      std::memcpy(targets.host[i], saved.data, saved.bytes);
    }
    state.tensors.clear();
    state.tensors.reserve(targets.all.size());
    for (const std::size_t i : targets.all) state.tensors.push_back(std::move(found.tensors[i]));
    return std::string();
  };
  return newest(take, sequence);
}

std::string CheckpointObject::take_from(unsigned copy, const Take& take, SavedState& state) {
  Source source{*header(copy), {}, {}, copies_[copy].range};
  const CopyHeader& head = source.header;
  if (head.sequence != copies_[copy].sequence || !is_intact(head)) return "its header is damaged";
  std::byte* const begin = source.range.address;
  source.catalogue = read_catalogue(begin, head, source.range.bytes);
  if (!source.catalogue.damage.empty()) return source.catalogue.damage;
  source.parts = {begin + head.data_offset, const_cast<std::uint64_t*>(source.catalogue.sums), head.data_bytes};
  state.step = head.step;
  state.sequence = head.sequence;
  state.text = source.catalogue.text;
  return take(source, state);
}

CheckReport CheckpointObject::check() {
  CheckReport report;
  std::uint64_t states = 0, blocks = 0;
  const auto take = [&](Source& source, SavedState&) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < source.catalogue.tensors.size(); ++i) {
      if (source.catalogue.tensors[i].bytes != 0) all.push_back(i);
    }
    blocks += blocks_of(source.parts.data_bytes);
    return damage_in(source.parts, source.catalogue, all);
  };
  std::unique_lock lock(mutex_);
  require_open();
  report.was_clean = was_clean();
  report.repairs = repairs();
  if (word_damaged_) report.errors.push_back("the word that says which copy counts is damaged");
  if (newest_is_missing()) report.errors.push_back(missing_newest());
  for (unsigned i = 0; i < copies(); ++i) {
    if (copies_[i].busy || copies_[i].sequence == 0) continue;
    const std::uint64_t sequence = copies_[i].sequence;
    ++copies_[i].held;
    ++states;
    lock.unlock();
    {
      const std::shared_ptr<const void> held(nullptr, [this, i](auto) { release(i); });
      SavedState state;
      if (const std::string damage = take_from(i, take, state); !damage.empty()) {
        report.errors.push_back("copy " + std::to_string(i) + ", of save " + std::to_string(sequence) + ": " + damage);
      }
    }
    lock.lock();
  }
  lock.unlock();
  pool().require_whole();
  report.checked.push_back(std::to_string(states) + " saved states, " + std::to_string(blocks) + " blocks");
  return report;
}

/// No copy has the state that the word names. The caller has `mutex_`.
bool CheckpointObject::newest_is_missing() const {
  return word_ != 0 && copies_[copy_in(word_) % copies()].sequence != sequence_in(word_);
}
std::string CheckpointObject::missing_newest() const {
  return "the newest copy, of save " + std::to_string(sequence_in(word_)) + ": its header is damaged";
}

SavedState CheckpointObject::newest(const Take& take, std::uint64_t sequence) {
  SavedState state;
  std::unique_lock lock(mutex_);
  if (word_ == 0 && !word_damaged_) throw ObjectNotFound(path() + " has no saved state yet");
  if (word_damaged_) state.damage.push_back("the word that says which copy counts");
  const auto may_give = [&](const Copy& copy) {
    return !copy.busy && copy.sequence != 0 && (sequence == 0 || copy.sequence == sequence);
  };
  if (sequence != 0 && std::none_of(copies_.begin(), copies_.end(), may_give)) {
    throw ObjectNotFound(path() + " has no save " + std::to_string(sequence) +
                         " any more, or not yet: list() says which it has");
  }
  if (sequence == 0 && newest_is_missing()) state.damage.push_back(missing_newest());
  std::uint64_t below = ~std::uint64_t{0};
  // ends: each round looks at an older copy
  for (;;) {
    int best = -1;
    for (unsigned i = 0; i < copies(); ++i) {
      const Copy& copy = copies_[i];
      if (!may_give(copy) || copy.sequence >= below) continue;
      if (best < 0 || copy.sequence > copies_[static_cast<unsigned>(best)].sequence) best = static_cast<int>(i);
    }
    if (best < 0) break;
    const auto chosen = static_cast<unsigned>(best);
    below = copies_[chosen].sequence;
    ++copies_[chosen].held;
    lock.unlock();
    std::shared_ptr<const void> held(nullptr, [self = shared_from_this(), chosen](auto) { self->release(chosen); });
    const std::string damage = take_from(chosen, take, state);
    pool().require_whole();
    if (damage.empty()) {
      state.held = std::move(held);
      return state;
    }
    state.damage.push_back("copy " + std::to_string(chosen) + ", of save " + std::to_string(below) + ": " + damage);
    held.reset();
    lock.lock();
  }
  std::string all;
  for (const std::string& damage : state.damage) all += "; " + damage;
  throw PoolCorrupt(path() + " has no copy that is whole" + all + "; restore the pool from a snapshot");
}

}  // namespace holdfast::checkpoint
