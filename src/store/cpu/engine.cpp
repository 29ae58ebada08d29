// engine.cpp: what the protocol uses on the CPU, and the operations.
#include "store/cpu/engine.hpp"

#include <cstring>
#include <string>

#include "holdfast/error.hpp"
#include "store/cpu/parts.hpp"

namespace holdfast::store::cpu {

Engine::Engine(const Mapped& mapped, const pool::Persist& persist, const EngineOptions& options)
    : mapped_(mapped),
      options_(options),
      memory_(persist),
      counters_(memory_, mapped.record, mapped.writes, options.clock, options.changing),
      index_(options.index, options.other_index, [this](cuckoo::cpu::CpuIndex& index) { rebuild(index); }),
      cells_(mapped.heap),
      stocks_(cells_),
      slabs_(mapped.heap.count) {
  recover();
}

Key Engine::key_of(const std::byte* key, std::size_t bytes) const {
  return {key, static_cast<std::uint16_t>(bytes), hash_of({key, bytes}, mapped_.seed)};
}

Key Engine::key_of(std::span<const std::byte> key) const { return key_of(key.data(), key.size()); }

namespace {

Content content_of_key(std::span<const std::byte> key) {
  Content content;
  content.key = key.data();
  content.key_bytes = static_cast<std::uint16_t>(key.size());
  return content;
}

}  // namespace

Change Engine::change(const Ask& ask, std::uint64_t& number) {
  Parts parts(*this);
  return change(parts, key_of(ask.content.key, ask.content.key_bytes), ask, number);
}

Change Engine::set(const Content& content, Condition condition, std::uint64_t cas) {
  std::uint64_t none = 0;
  return change({.content = content, .condition = condition, .cas = cas}, none);
}

Change Engine::extend(std::span<const std::byte> key, std::span<const std::byte> added, bool before,
                      std::uint32_t most_bytes) {
  Parts parts(*this);
  const Key its = key_of(key);
  std::vector<std::byte> value;
  for (;;) {  // ends: repeated only if another change made the value longer meanwhile
    Value seen;
    if (!get(key, {}, seen)) return Change::not_found;
    if (std::uint64_t{seen.bytes} + added.size() > most_bytes) return Change::larger;
    const std::size_t guess = seen.bytes + added.size();
    const Header header{0, static_cast<std::uint32_t>(guess), its.bytes, false, 0};
    if (8 * header.words() > mapped_.heap.slab_bytes()) {
      if (const Change change = extend_large(its, seen, added, before); change != Change::larger) return change;
      continue;
    }
    value.resize(guess);  // under the claim nothing is allocated
    bool too_long = false;
    const Change change = put(parts, its, header.words(), [&](const Current& old, Content& next) {
      if (!old.is_there()) return Change::not_found;
      const std::size_t bytes = old.header.value_bytes + added.size();
      too_long = bytes > most_bytes;
      if (too_long || old.header.chunks != 0 || bytes > guess) return Change::larger;
      if (!is_whole(old.cell)) return Change::damaged;
      copy_value(old.header, old.sequence, old.cell, value.data() + (before ? added.size() : 0));
      std::memcpy(value.data() + (before ? 0 : old.header.value_bytes), added.data(), added.size());
      next = content_like(old, its, value.data(), bytes);
      return Change::replaced;
    });
    if (change != Change::larger || too_long) return change;
  }
}

/// The new value is made before the claim, of the item `seen`; `larger`: the key has another one since.
Change Engine::extend_large(const Key& key, const Value& seen, std::span<const std::byte> added, bool before) {
  Parts parts(*this);
  std::vector<std::byte> value(seen.bytes + added.size());
  Value now;
  const std::span<std::byte> its(value.data() + (before ? added.size() : 0), seen.bytes);
  if (!get({key.data, key.bytes}, its, now)) return Change::not_found;
  if (now.sequence != seen.sequence) return Change::larger;
  bool whole = false;
  const auto verify = [&](const Header&, State, std::uint64_t sequence, const Cell& cell) {
    now.sequence = sequence;
    whole = is_whole(cell);
    return true;
  };
  if (!read({key.data, key.bytes}, verify)) return Change::not_found;
  if (now.sequence != seen.sequence) return Change::larger;
  if (!whole) return Change::damaged;
  std::memcpy(value.data() + (before ? 0 : seen.bytes), added.data(), added.size());
  Content content;
  content.key = key.data;
  content.key_bytes = key.bytes;
  content.value_bytes = static_cast<std::uint32_t>(value.size());
  content.flags = seen.flags;
  content.expiry = seen.expiry;
  NewItem item;
  if (!reserve_large(parts, content, item)) return Change::no_space;
  visit_value(parts, item, [&](std::uint64_t* to, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) memory_.store(to + i, padded_word(value.data(), value.size(), first + i));
  });
  sum_item(parts, item);
  return put(parts, key, item, [&](const Current& old, Content&) {
    if (!old.is_there()) return Change::not_found;
    const bool same = old.sequence == seen.sequence && old.state.expiry() == seen.expiry;
    return same ? Change::replaced : Change::larger;
  });
}

Change Engine::add(std::span<const std::byte> key, std::uint64_t by, bool subtract, std::uint64_t& result) {
  return change({.kind = Ask::Kind::count, .content = content_of_key(key), .number = by, .subtracts = subtract},
                result);
}

Change Engine::erase(std::span<const std::byte> key, std::uint64_t cas) {
  std::uint64_t none = 0;
  return change({.kind = Ask::Kind::erase, .content = content_of_key(key), .cas = cas}, none);
}

Change Engine::touch(std::span<const std::byte> key, std::uint64_t expiry) {
  std::uint64_t none = 0;
  return change({.kind = Ask::Kind::touch, .content = content_of_key(key), .number = expiry}, none);
}

Change Engine::mark_stale(std::span<const std::byte> key, std::uint64_t expiry) {
  std::uint64_t none = 0;
  return change({.kind = Ask::Kind::mark_stale, .content = content_of_key(key), .number = expiry}, none);
}

bool Engine::get(std::span<const std::byte> key, std::span<std::byte> space, Value& value) {
  return read(key, [&](const Header& header, State state, std::uint64_t sequence, const Cell& cell) {
    value = {header.flags, cas_of(header, sequence, cell), state.expiry(), header.value_bytes, state.is_stale(),
             sequence};
    return header.value_bytes > space.size() || copy_value(header, sequence, cell, space.data());
  });
}

bool Engine::visit(std::uint64_t slab, std::uint64_t generation, std::uint64_t from, std::uint64_t to,
                   const Visit& visit) {
  std::vector<std::byte> key, value;
  for (const Cell& cell : cells_.cells_of(slab, generation)) {
    const std::uint64_t sequence = memory_.load(cell.words + kSequenceWord);
    if (sequence <= from || sequence > to) continue;
    const Moment moment = counters_.moment();
    const State state{memory_.load(cell.words + kStateWord)};
    const Header header = Header::of(memory_.load(cell.words + kValueWord), memory_.load(cell.words + kKeyWord));
    if (!state.is_live() || moment.is_over(state, sequence) || header.words() > cell.size) continue;
    if (state.expiry() != 0 && counters_.reaches(state.expiry())) continue;
    if (recovered_.damaged != 0 && !is_whole(cell)) continue;  // the key may be absent, or have a newer item
    key.resize(header.key_bytes);
    value.resize(header.value_bytes);
    copy_words(cell.words + header.key_at(), header.key_bytes, key.data());
    const bool whole = copy_value(header, sequence, cell, value.data());
    const std::uint64_t cas = cas_of(header, sequence, cell);
    memory_.order_loads();
    if (!whole || memory_.load(cell.words + kSequenceWord) != sequence) continue;
    if (!visit(key, value, {header.flags, cas, state.expiry(), header.value_bytes, state.is_stale(), sequence})) {
      return false;
    }
  }
  return true;
}

}  // namespace holdfast::store::cpu
