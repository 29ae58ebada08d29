// single_calls.cpp: calls with one key, alone or together.
#include "store/single_calls.hpp"

#include "store/cpu/rows.hpp"

namespace holdfast::store {

using cpu::Ask;
using cpu::Engine;

namespace {

std::span<const std::byte> key_of_ask(const Ask& ask) { return {ask.content.key, ask.content.key_bytes}; }

/// `look(copy)`, with `copy` as in Engine::read.
template <class LookAt>
auto read_one(const Engine& engine, StoreItem* item, const LookAt& look) {
  if (item != nullptr) return look(ItemCopier{engine, *item});
  return look([](const Header&, State, std::uint64_t, const Cell&) { return true; });
}

Change change_one(Engine& engine, const Ask& ask, std::uint64_t* number) {
  switch (ask.kind) {
    case Ask::Kind::count: return engine.add(key_of_ask(ask), ask.number, ask.subtracts, *number);
    case Ask::Kind::erase: return engine.erase(key_of_ask(ask), ask.cas);
    case Ask::Kind::touch: return engine.touch(key_of_ask(ask), ask.number);
    case Ask::Kind::mark_stale: return engine.mark_stale(key_of_ask(ask), ask.number);
    default: HOLDFAST_ASSERT(ask.kind == Ask::Kind::set);
  }
  return engine.set(ask.content, ask.condition, ask.cas);
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
    const auto ask = [&](std::size_t i) {
      Ask its;
      its.kind = Ask::Kind::read;
      its.content.key = calls[i]->key.data();
      its.content.key_bytes = static_cast<std::uint16_t>(calls[i]->key.size());
      return its;
    };
    const auto read = [&](std::size_t i, const auto& look) {
      const cpu::Look seen = read_one(engine, calls[i]->item, look);
      *calls[i]->found = seen == cpu::Look::found;
      return seen;
    };
    Engine::Together(engine).run(
        calls.size(), ask, [](std::size_t, Change, std::uint64_t) {}, read, [](std::size_t) {});
    return true;
  });
}

Change SingleCalls::change(const Ask& ask, std::uint64_t* number) {
  if (!combines_.load(std::memory_order_relaxed)) {
    return store_.change(1, [&](Engine& engine) { return change_one(engine, ask, number); });
  }
  Change change{};
  changes_.run({&ask, &change, number}, [&](std::span<const Changed* const> calls) { change_all(calls); });
  return change;
}

void SingleCalls::change_all(std::span<const Changed* const> calls) {
  store_.change(calls.size(), [&](Engine& engine) {
    look_at(engine);
    if (calls.size() == 1) {
      *calls[0]->change = change_one(engine, *calls[0]->ask, calls[0]->number);
      return true;
    }
    const auto ask = [&](std::size_t i) { return *calls[i]->ask; };
    Engine::Together(engine).run(calls.size(), ask, [&](std::size_t i, Change change, std::uint64_t number) {
      *calls[i]->change = change;
      if (change == Change::replaced && calls[i]->number != nullptr) *calls[i]->number = number;
    });
    return true;
  });
}

}  // namespace holdfast::store
