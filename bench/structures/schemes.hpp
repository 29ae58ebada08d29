// schemes.hpp: the schemes of the comparison in anonymous memory, each a PersistentTable over a memory policy.
#pragma once

#include <bit>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "frame/anonymous_memory.hpp"
#include "structures/cells/form.hpp"
#include "structures/group/table.hpp"
#include "structures/persistent_table.hpp"
#include "structures/subject.hpp"

namespace holdfast::bench::structures {

namespace scheme = holdfast::structures;

/// Linear probing, PFHT or path hashing. `Form`: with or without an undo log. The number of cells is the nearest that the scheme has.
template <class Form>
struct CellScheme {
  using View = cells::View;
  template <class Item, class Memory>
  using Table = typename Form::template Table<Item, Memory>;
  static cells::Shape shape(const Plan& plan) {
    const std::uint64_t wanted = std::uint64_t{1} << plan.bits;
    const auto apart = [&](unsigned index) {
      const std::uint64_t has = Form::Scheme::cells(index);
      return has > wanted ? has - wanted : wanted - has;
    };
    unsigned nearest = plan.bits;
    for (unsigned index = plan.bits - 2; index < plan.bits; ++index) {
      if (apart(index) < apart(nearest)) nearest = index;
    }
    return {nearest, plan.item_bytes / 8, Form::Scheme::cells(nearest)};
  }
};

/// Group hashing.
struct GroupScheme {
  using View = group::View;
  template <class Item, class Memory>
  using Table = group::Table<Item, Memory>;
  static group::Shape shape(const Plan& plan) {
    const std::uint64_t cells = std::uint64_t{1} << plan.bits;
    const std::uint64_t groups = cells / 2 / plan.group_size;
    return {groups == 0 ? 1 : groups, plan.group_size, plan.item_bytes / 8};
  }
};

/// The words and locks of a table.
template <class Scheme>
struct Storage {
  explicit Storage(const Plan& plan) : words(Scheme::shape(plan).bytes(), true), locks(Scheme::shape(plan).locks()) {
    view.shape = Scheme::shape(plan);
    view.seed = plan.seed;
    view.words = words.as<std::uint64_t>();
    view.locks = locks.data();
  }
  AnonymousMemory words;
  std::vector<VersionLock> locks;
  typename Scheme::View view;
};

template <class Scheme, class Item, class Memory>
class SchemeSubject : public Subject {
 public:
  using Table = typename Scheme::template Table<Item, Memory>;
  static_assert(scheme::PersistentTable<Table>);

  /// `memory_from(storage)` makes the memory policy.
  template <class MemoryFrom>
  SchemeSubject(const Plan& plan, const MemoryFrom& memory_from) : storage_(plan), memory_(memory_from(storage_)) {}

  Status insert(const std::uint64_t* key, const std::uint64_t* value) override {
    return table().insert_new(words<typename Item::Key>(key), words<typename Item::Value>(value));
  }
  Status find(const std::uint64_t* key, std::uint64_t* value) override {
    typename Item::Value found = {};
    const Status status = table().find(words<typename Item::Key>(key), found);
    if (status == Status::found) std::memcpy(value, found.word, sizeof found.word);
    return status;
  }
  Status erase(const std::uint64_t* key) override { return table().erase(words<typename Item::Key>(key)); }
  std::uint64_t size() override { return table().size(); }
  std::uint64_t cells() override { return storage_.view.shape.cells(); }

 protected:
  Table table() { return Table(memory_, storage_.view); }

 private:
  template <class Words>
  static Words words(const std::uint64_t* from) {
    Words words;
    std::memcpy(words.word, from, sizeof words.word);
    return words;
  }

  Storage<Scheme> storage_;
  const Memory memory_;
};

/// The counter of a table: made with the table's memory policy, so before the table.
struct CounterOfTable {
  std::optional<Counter> counter;
};
template <class Scheme, class Item>
class CountedScheme final : private CounterOfTable, public SchemeSubject<Scheme, Item, CountingMemory> {
 public:
  explicit CountedScheme(const Plan& plan)
      : SchemeSubject<Scheme, Item, CountingMemory>(plan, [this](const Storage<Scheme>& storage) {
          return CountingMemory(counter.emplace(storage.view.words, storage.view.shape.bytes()));
        }) {}
  Counted take_counts() override { return std::exchange(counter->counted, {}); }
  void begin_operation() override { counter->begin_operation(); }
};

template <class Scheme>
std::unique_ptr<Subject> timed(const Plan& plan, const Emulation& emulation) {
  const auto memory = [&](const Storage<Scheme>&) { return TimedMemory(emulation); };
  if (plan.item_bytes == 16) return std::make_unique<SchemeSubject<Scheme, scheme::Item16, TimedMemory>>(plan, memory);
  return std::make_unique<SchemeSubject<Scheme, scheme::Item32, TimedMemory>>(plan, memory);
}
template <class Scheme>
std::unique_ptr<Subject> counted(const Plan& plan) {
  if (plan.item_bytes == 16) return std::make_unique<CountedScheme<Scheme, scheme::Item16>>(plan);
  return std::make_unique<CountedScheme<Scheme, scheme::Item32>>(plan);
}

}  // namespace holdfast::bench::structures
