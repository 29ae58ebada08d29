// recovery.cpp: drives the shipped recovery over crash images.
#include "structures/gphash/model/recovery.hpp"

#include <algorithm>
#include <cstring>

#include "holdfast/error.hpp"
#include "structures/gphash/cpu/level_maintenance.hpp"
#include "structures/gphash/model/driver.hpp"
#include "structures/gphash/model/memory.hpp"
#include "structures/gphash/model/pool.hpp"
#include "structures/gphash/model/runner.hpp"
#include "structures/gphash/protocol/address.hpp"
// After the policy that it is compiled with:
#include "structures/gphash/cpu/driver_impl.hpp"

namespace holdfast::gphash::model {

namespace {

constexpr unsigned kFresh = 100;  // values of the second round are above those of the first
constexpr unsigned kOneIn = 16;   // images whose second round is crashed, where not all are

/// What lies in the slots and cells of a quiet table.
class Inspection {
 public:
  Inspection(World& world, const gphash::Layout& layout, const std::vector<std::uint64_t>& keys)
      : world_(world),
        layout_(layout),
        keys_(keys),
        lies_(keys.size(), kAbsent),
        named_(world.shape().variable ? 0 : layout.cells, false) {
    look(layout.reserved_slot, true);
    for (unsigned rank = 0; rank < layout.shape.levels(); ++rank) {
      const std::uint64_t slots = layout.buckets(rank) * layout.shape.slots();
      for (std::uint64_t i = 0; i < slots; ++i) look(layout.after(layout.level[rank], i), false);
    }
    if (static_cast<std::int64_t>(items_) != world.items()) {
      fail("the table counts " + std::to_string(world.items()) + " items, its slots hold " + std::to_string(items_));
    }
    if (world.shape().variable) {
      check_pair_cells();
    } else if (!layout.in_slot()) {
      check_cells();
    }
  }

  State lies(std::size_t k) const { return lies_[k]; }
  const std::string& error() const { return error_; }
  void fail(const std::string& what) {
    if (error_.empty()) error_ = what;
  }

 private:
  void look(const gphash::Slot* slot, bool reserved) {
    if (slot->key == 0 && (slot->word == 0 || layout_.key_decides())) return;
    if (slot->key == 0 || (slot->word == 0 && !layout_.in_slot())) return fail("a slot is half-written");
    const auto at =
        std::find_if(keys_.begin(), keys_.end(), [&](std::uint64_t key) { return is_key(slot, reserved, key); });
    if (at == keys_.end()) return fail("a slot holds key " + std::to_string(slot->key) + ", which was not given");
    const std::uint64_t key = *at;
    State& state = lies_[static_cast<std::size_t>(at - keys_.begin())];
    if (state != kAbsent) fail("key " + std::to_string(key) + " is there twice");
    ++items_;
    if (layout_.in_slot()) {
      state = slot->word;
      return;
    }
    if (world_.shape().variable) {
      state = look_at_pair(slot);
      return;
    }
    if (slot->word - 1 >= layout_.cells) return fail("a slot names a cell that there is not");
    if (named_[slot->word - 1]) fail("two slots name one cell");
    named_[slot->word - 1] = true;
    state = decode(reinterpret_cast<const std::uint64_t*>(layout_.cell(slot->word - 1)), layout_.value_bytes,
                   world_.shape().columns);
    if (layout_.scored()) state = with_score(state, *layout_.score_of(slot->word - 1));
  }

  State look_at_pair(const gphash::Slot* slot) {
    if (!heap::names_cell(pool::QuietMemory{}, layout_.heap_view(), slot->word))
      return fail("a slot names a cell that there is not"), kTorn;
    if (!gphash::is_whole_pair(pool::QuietMemory{}, layout_, slot->key, slot->word))
      fail("a pair is not as it was written");
    const std::uint64_t cell = World::filled(slot->word);
    if (std::find(pairs_.begin(), pairs_.end(), cell) != pairs_.end()) fail("two slots name one cell");
    pairs_.push_back(cell);
    const gphash::Part value = gphash::pair_at(pool::QuietMemory{}, layout_, slot->word).value;
    return decode_variable(value.data, value.size);
  }

  /// Every cell of a slab that has a class is free or named, once.
  void check_pair_cells() {
    if (!world_.none_is_retired()) fail("cells are retired though no epoch is open");
    pairs_.insert(pairs_.end(), world_.free_cells().begin(), world_.free_cells().end());
    std::vector<std::uint64_t> all = world_.all_pair_cells();
    std::sort(pairs_.begin(), pairs_.end());
    std::sort(all.begin(), all.end());
    if (pairs_ != all) fail("a cell is neither free nor named, or both");
  }

  bool is_key(const gphash::Slot* slot, bool reserved, std::uint64_t number) const {
    if (world_.shape().variable) {
      if (!heap::names_cell(pool::QuietMemory{}, layout_.heap_view(), slot->word)) return false;
      std::uint64_t words[kKeyWords];
      encode_key(number, world_.shape(), words);
      const gphash::Part key = gphash::pair_at(pool::QuietMemory{}, layout_, slot->word).key;
      return key.size == sizeof words && std::memcmp(key.data, words, sizeof words) == 0;
    }
    if (!layout_.wide()) return number == (reserved ? 0 : slot->key);
    std::uint64_t words[kKeyWords];
    encode_key(number, world_.shape(), words);
    return std::equal(words, words + layout_.key_words(), gphash::wide_key(slot));
  }

  void check_cells() {
    if (!world_.none_is_retired()) fail("cells are retired though no epoch is open");
    for (const std::uint64_t cell : world_.free_cells()) {
      if (named_[cell]) return fail("cell " + std::to_string(cell) + " is free, and named or free twice");
      named_[cell] = true;
    }
    const auto lost = std::find(named_.begin(), named_.end(), false);
    if (lost != named_.end()) fail("cell " + std::to_string(lost - named_.begin()) + " is neither free nor named");
  }

  World& world_;
  const gphash::Layout& layout_;
  const std::vector<std::uint64_t>& keys_;
  std::vector<State> lies_;
  std::vector<bool> named_;
  std::vector<std::uint64_t> pairs_;
  std::uint64_t items_ = 0;
  std::string error_;
};

Operation operation(Op op, std::uint64_t key, std::uint64_t value) {
  Operation made;
  made.op = op;
  made.key = key;
  made.value = value;
  return made;
}

}  // namespace

Recovered inspect(World& world, cpu::Driver& driver, const gphash::Layout& layout,
                  const std::vector<std::uint64_t>& keys) {
  Recovered result;
  Inspection seen(world, layout, keys);
  Runner reader(world, driver, 0, false);
  for (std::size_t k = 0; k < keys.size(); ++k) {
    Operation find = operation(Op::find, keys[k], 0);
    reader.run(&find, 1, false, layout);
    result.states.push_back(find.read);
    if (find.read == kTorn) seen.fail("the value of key " + std::to_string(keys[k]) + " is torn");
    if (find.read != seen.lies(k)) {
      seen.fail("key " + std::to_string(keys[k]) + " is " + describe(find.read) + " for a search, but its slot says " +
                describe(seen.lies(k)));
    }
  }
  result.error = seen.error();
  return result;
}

/// Collects the images that a crash inside recovery leaves.
class Recovery::Collector : public Watcher {
 public:
  Collector(Recovery& recovery, std::uint64_t self, Node& node, std::vector<Found>& found)
      : recovery_(recovery), self_(self), node_(node), found_(found) {}

  void stored() override {
    recovery_.world_.durable().images([&](const Image& image, std::uint64_t hash) {
      ++recovery_.counts_.crashed;
      if (hash == self_ || std::find(node_.next.begin(), node_.next.end(), hash) != node_.next.end()) return;
      node_.next.push_back(hash);
      if (!recovery_.nodes_.contains(hash)) found_.push_back({image, hash});
    });
  }

 private:
  Recovery& recovery_;
  std::uint64_t self_;
  Node& node_;
  std::vector<Found>& found_;
};

/// Collects those that a crash after it leaves, with what they may hold.
class Recovery::SecondCrashes : public Watcher {
 public:
  SecondCrashes(Recovery& recovery, std::vector<Check>& checks) : recovery_(recovery), checks_(checks) {}
  History history;

  void stored() override {
    std::vector<std::vector<State>> allowed;
    for (unsigned k = 0; k < history.keys.size(); ++k) allowed.push_back(history.allowed(k));
    const std::uint64_t answers = history.hash();
    recovery_.world_.durable().images([&](const Image& image, std::uint64_t hash) {
      ++recovery_.counts_.second_crashes;
      if (recovery_.checked_.insert(mix(hash + mix(answers))).second) checks_.push_back({{image, hash}, allowed});
    });
  }

 private:
  Recovery& recovery_;
  std::vector<Check>& checks_;
};

Recovery::Recovery(Flavour flavour, const ModelShape& shape, std::vector<std::uint64_t> keys, bool thorough)
    : flavour_(flavour),
      shape_(shape),
      keys_(std::move(keys)),
      thorough_(thorough),
      world_(flavour, shape),
      driver_(make_model_driver(flavour, {shape.levels, shape.hashes, shape.slots, shape.key_words, shape.variable})) {}

Recovery::~Recovery() = default;

/// Recovers what the world was loaded with. `checks`: crash what comes after it, too.
Recovered Recovery::run(std::vector<Check>* checks) {
  ++counts_.recoveries;
  world_.set_caller(0);
  try {
    ModelPool pool(world_);
    cpu::LevelMaintenance<ModelPool> levels(pool, {0, shape_.may_move}, *driver_, *cells_, workers_);
    world_.set_items(static_cast<std::int64_t>(levels.recover()));
    world_.set_watcher(nullptr);
    const gphash::Layout& layout = levels.layout();
    const auto is_free = [&](std::uint64_t word) { return cells_->is_free(word); };
    if (shape_.variable) {
      world_.set_free_pairs(is_free);
    } else {
      world_.set_free_cells(layout.heap_view().count, is_free);
    }
    Recovered result = inspect(world_, *driver_, layout, keys_);
    if (pool.shape().is_resizing || (layout.bottom_level() > 0 && pool.level(layout.bottom_level() - 1) != nullptr)) {
      result.error = "recovery left a resize unfinished";
    }
    if (result.error.empty()) result.error = second_round(layout, result, checks);
    return result;
  } catch (const PoolCorrupt& error) {
    world_.set_watcher(nullptr);
    return {{}, error.what()};
  }
}

Recovery::Node Recovery::recover(const Image& image, std::uint64_t hash, std::vector<Found>& found) {
  Node node;
  Collector collector(*this, hash, node, found);
  const InWorld in(world_);
  world_.load(image);
  world_.set_watcher(&collector);
  node.result = run(nullptr);
  return node;
}

/// Fills the table, changes what was in it, and looks again.
std::string Recovery::second_round(const gphash::Layout& layout, const Recovered& before, std::vector<Check>* checks) {
  ++counts_.second_rounds;
  std::vector<Check> none;
  SecondCrashes crashes(*this, checks ? *checks : none);
  History& history = crashes.history;
  history.keys = keys_;
  history.before = before.states;
  history.may_be_full = true;
  history.operations.reserve(2 * keys_.size());
  if (checks) world_.set_watcher(&crashes);
  Runner writer(world_, *driver_, 0, false);
  std::string error;
  const auto act = [&](Op op, std::size_t k) {
    history.operations.push_back(operation(op, keys_[k], kFresh + k));
    Operation& last = history.operations.back();
    last.score = shape_.score;
    last.step = kFresh + k;
    last.invoked = true;
    last.earlier = static_cast<std::uint32_t>((std::uint64_t{1} << (history.operations.size() - 1)) - 1);
    writer.run(&last, 1, false, layout);
    if (last.status == Status::no_space && error.empty()) error = check_no_space(layout, keys_[k], last.value);
  };
  for (std::size_t k = 0; k < keys_.size(); ++k) {
    if (before.states[k] == kAbsent) act(Op::insert, k);
  }
  for (std::size_t k = 0; k < keys_.size(); ++k) {
    if (before.states[k] != kAbsent) act(k % 2 == 0 ? Op::assign : Op::erase, k);
  }
  world_.set_watcher(nullptr);
  if (!error.empty()) return error;
  const Recovered after = inspect(world_, *driver_, layout, keys_);
  if (!after.error.empty()) return "after a second round: " + after.error;
  for (unsigned k = 0; k < keys_.size(); ++k) {
    const std::vector<State> allowed = history.allowed(k);
    if (allowed.size() != 1 || allowed[0] != after.states[k]) {
      return "after a second round key " + std::to_string(keys_[k]) + " is " + describe(after.states[k]) + "\n" +
             describe(history);
    }
  }
  return {};
}

/// `no_space` is right only where every candidate slot is taken, or no cell is left.
std::string Recovery::check_no_space(const gphash::Layout& layout, std::uint64_t key, State value) const {
  if (!shape_.variable && !layout.in_slot() && world_.free_cells().size() <= shape_.reserve) return {};
  std::uint64_t words[kKeyWords];
  encode_key(key, shape_, words);
  if (shape_.variable) {
    if (!world_.has_pair_cell(heap::class_of(gphash::pair_bytes(8 * kKeyWords, 8 * words_of(value))))) return {};
    const gphash::Part part{reinterpret_cast<const std::byte*>(words), 8 * kKeyWords};
    const auto view = gphash::view_as<gphash::RuntimeVariableShape>(layout);
    const gphash::Candidates<gphash::RuntimeVariableShape> candidates(view, {gphash::hash_of(part, view.seed), part});
    for (unsigned lane = 0; lane < candidates.lane_count(view); ++lane) {
      if (candidates.slot(view, lane)->key == 0) return "a key found no space, though one of its slots is empty";
    }
    return {};
  }
  using Memory = cpu::CpuMemory<ModelTile<Flavour::process>, true>;
  const gphash::Candidates<gphash::RuntimeShape> candidates(
      layout, gphash::given_key<Memory>(layout, reinterpret_cast<const std::byte*>(words)));
  for (unsigned lane = 0; lane < candidates.lane_count(layout); ++lane) {
    const gphash::Slot* const slot = candidates.slot(layout, lane);
    if (slot->key == 0) return "key " + std::to_string(key) + " found no space, though one of its slots is empty";
  }
  return {};
}

bool Recovery::deserves_more(const Image& image, std::uint64_t hash) const {
  if (thorough_ || mix(hash) % kOneIn == 0) return true;
  for (unsigned i = world_.regions().slots_begin; i < world_.regions().heap_begin; i += world_.regions().slot_words) {
    if ((image[i] == 0) != (image[i + 1] == 0)) return true;
  }
  return false;
}

/// The results of all recoveries that can end what begins with `image`.
std::vector<Recovered> Recovery::closure(const Image& image, std::uint64_t hash) {
  std::vector<Found> found;
  if (!nodes_.contains(hash)) found.push_back({image, hash});
  while (!found.empty()) {
    const Found next = std::move(found.back());
    found.pop_back();
    if (nodes_.contains(next.hash)) continue;
    Node node = recover(next.image, next.hash, found);
    nodes_.emplace(next.hash, std::move(node));
  }
  std::vector<Recovered> results;
  std::vector<std::uint64_t> reached{hash};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const Node& node = nodes_.at(reached[i]);
    if (std::find(results.begin(), results.end(), node.result) == results.end()) results.push_back(node.result);
    for (const std::uint64_t next : node.next) {
      if (std::find(reached.begin(), reached.end(), next) == reached.end()) reached.push_back(next);
    }
  }
  return results;
}

const std::vector<Recovered>& Recovery::outcomes(const Image& image, std::uint64_t hash) {
  const auto known = outcomes_.find(hash);
  if (known != outcomes_.end()) return known->second;
  std::vector<Recovered> results = closure(image, hash);
  const bool sound = std::all_of(results.begin(), results.end(), [](const Recovered& r) { return r.error.empty(); });
  if (sound && deserves_more(image, hash)) {
    std::vector<Check> checks;
    {
      const InWorld in(world_);
      world_.load(image);
      run(&checks);
    }
    for (const Check& check : checks) {
      for (const Recovered& result : closure(check.found.image, check.found.hash)) {
        std::string error = result.error;
        for (std::size_t k = 0; k < keys_.size() && error.empty(); ++k) {
          const auto& allowed = check.allowed[k];
          if (std::find(allowed.begin(), allowed.end(), result.states[k]) == allowed.end()) {
            error = "key " + std::to_string(keys_[k]) + " is " + describe(result.states[k]);
          }
        }
        if (!error.empty()) {
          results.push_back({{}, "recovered, changed, crashed and recovered again: " + error});
          return outcomes_.emplace(hash, std::move(results)).first->second;
        }
      }
    }
  }
  return outcomes_.emplace(hash, std::move(results)).first->second;
}

}  // namespace holdfast::gphash::model
