// single_calls.cpp: calls with one key, alone or together.
#include "store/single_calls.hpp"

#include "store/cpu/parts.hpp"

namespace holdfast::store {

using cpu::Ask;
using cpu::Engine;

namespace {

/// The keys of calls.
template <class Call>
struct KeysOf {
  std::span<const Call* const> calls;
  std::span<const std::byte> operator[](std::size_t i) const {
    if constexpr (requires { calls[i]->key; }) {
      return calls[i]->key;
    } else {
      return {calls[i]->ask->content.key, calls[i]->ask->content.key_bytes};
    }
  }
};

/// `look(copy)`, with `copy` as in Engine::read.
template <class LookAt>
auto read_one(const Engine& engine, StoreItem* item, const LookAt& look) {
  if (item != nullptr) return look(ItemCopier{engine, *item});
  return look([](const Header&, State, std::uint64_t, const Cell&) { return true; });
}

}  // namespace

bool SingleCalls::read(std::span<const std::byte> key, StoreItem* item) {
  if (!combines_.load(std::memory_order_relaxed)) {
    return store_.search([&](Engine& engine) {
      return read_one(engine, item, [&](const auto& copy) { return engine.read(key, copy); });
    });
  }
  bool found = false;
  reads_.run({key, item, &found}, [&](std::span<const Read* const> calls) { read_all(calls); });
  return found;
}

void SingleCalls::read_all(std::span<const Read* const> calls) {
  store_.search([&](Engine& engine) {
    look_at(engine);
    const KeysOf<Read> keys{calls};
    Engine::Lookup lookup;
    lookup.look_up(engine, keys, calls.size());
    lookup.run(keys, [&](std::size_t i, const auto& look) {
      const cpu::Look seen = read_one(engine, calls[i]->item, look);
      *calls[i]->found = seen == cpu::Look::found;
      return seen;
    });
    return true;
  });
}

Change SingleCalls::change(const Ask& ask, std::uint64_t* number) {
  if (!combines_.load(std::memory_order_relaxed)) {
    std::uint64_t none = 0;
    return store_.change(1, [&](Engine& engine) { return engine.change(ask, number != nullptr ? *number : none); });
  }
  Change change{};
  changes_.run({&ask, &change, number}, [&](std::span<const Changed* const> calls) { change_all(calls); });
  return change;
}

void SingleCalls::change_all(std::span<const Changed* const> calls) {
  store_.change(calls.size(), [&](Engine& engine) {
    look_at(engine);
    Engine::Group group(engine);
    const auto words = [&](std::size_t i) { return Engine::Group::words_of(*calls[i]->ask); };
    group.run(KeysOf<Changed>{calls}, calls.size(), words, [&](std::size_t i) {
      std::uint64_t number = 0;
      *calls[i]->change = group.change(*calls[i]->ask, number);
      if (*calls[i]->change == Change::replaced && calls[i]->number != nullptr) *calls[i]->number = number;
    });
    return true;
  });
}

}  // namespace holdfast::store
