// schedules.cpp: scenarios written by hand: operations whose steps meet in ways that short combinations do not reach.
#include "scenarios.hpp"

#include <algorithm>
#include <string>

namespace holdfast::gphash::model {

namespace {

/// What changes a value that is there, and adds one that is not: values of any length are not summed.
Operation (*combiner(const Items& items))(std::uint64_t, std::uint64_t) {
  return items.variable ? insert_or_assign : accumulate;
}

void add_reuse(std::vector<Scenario>& to, Flavour flavour, const Items& items) {
  const ModelShape shape = two_levels(items);
  const auto k = colliding_keys(shape, 2);
  Scenario scenario = blank("a slot is erased and filled again under a search", flavour, shape);
  scenario.setup = {insert(k[0], 1)};
  scenario.callers = {{one(find(k[0]))}, {one(erase(k[0])), one(insert(k[1], 4))}};
  to.push_back(scenario);

  scenario = blank("an erased key comes back in the same slot", flavour, shape);
  scenario.setup = {insert(k[0], 1)};
  scenario.callers = {{one(erase(k[0])), one(insert(k[0], 2))}, {one(find(k[0])), one(find(k[0]))}};
  to.push_back(scenario);

  // Two keys of two stripes and one tag, so that what the tag of the one says can be taken for the other.
  const ModelShape spread = one_level(items);
  const auto twins = keys_where(2, [&](const std::vector<std::uint64_t>& before, std::uint64_t key) {
    if (bucket(spread, key, 0, 0) != before.size() || bucket(spread, key, 0, 1) != 0) return false;
    return before.empty() || candidates_of(spread, before[0]).tag() == candidates_of(spread, key).tag();
  });
  scenario = blank("a key takes the slot of another with its tag", flavour, spread);
  scenario.setup = {insert(twins[0], 1)};
  scenario.callers = {{one(erase(twins[0])), one(insert(twins[1], 2))}, {one(find(twins[1])), one(find(twins[1]))}};
  to.push_back(scenario);

  if (items.value_bytes != kInCells) return;
  scenario = blank("a cell is used again under a search", flavour, shape);
  scenario.setup = {insert(k[0], 1)};
  scenario.callers = {{one(find(k[0]))}, {one(assign(k[0], 2)), one(insert(k[1], 4))}};
  to.push_back(scenario);

  scenario = blank("few cells: inserts leave the last for updates", flavour, shape);
  scenario.shape.cells = items.variable ? 2 : 3;
  scenario.may_be_full = true;
  scenario.setup = {insert(k[0], 1)};
  scenario.callers = {{one(insert(k[1], 2)), one(insert(kReserved, 4))}, {one(assign(k[0], 8)), one(assign(k[0], 16))}};
  to.push_back(scenario);
}

void add_runs(std::vector<Scenario>& to, Flavour flavour, const Items& items) {
  ModelShape shape = two_levels(items);
  shape.cells = items.variable ? 6 : 10;
  const auto k = colliding_keys(shape, 2);
  const auto combine = combiner(items);
  const std::vector<std::vector<Operation>> batches = {
      {insert(k[0], 2), combine(k[0], 4), erase(k[0])},
      {erase(k[0]), insert(k[0], 2), combine(k[0], 4)},
      {combine(k[0], 2), combine(k[0], 4), find(k[0])},
      {find_or_insert(k[0], 2), assign(k[0], 4), insert_or_assign(k[0], 8)},
  };
  for (std::size_t i = 0; i < batches.size(); ++i) {
    for (const bool as_run : {false, true}) {
      for (const bool there : {false, true}) {
        Scenario scenario = blank(as_run ? "a batch of three as one run" : "a batch of three", flavour, shape);
        scenario.name += " " + std::to_string(i) + (there ? ", there before" : "");
        if (there) scenario.setup = {insert(k[0], 1)};
        scenario.callers = {{Submission{batches[i], as_run}}, {one(find(k[0])), one(insert_or_assign(k[0], 16))}};
        to.push_back(scenario);
      }
    }
  }
  if (items.key_words > 1 || items.variable) return;  // tens of millions of states
  Scenario scenario = blank("batches of three on three keys", flavour, shape);
  scenario.setup = {insert(k[0], 1), insert(kReserved, 2)};
  scenario.callers = {{Submission{{insert(k[1], 4), erase(k[0]), assign(kReserved, 8)}, false}},
                      {Submission{{accumulate(kReserved, 16), insert_or_assign(k[0], 32), find(k[1])}, false}}};
  to.push_back(scenario);
}

/// Batches in phases, under searches: of one operation, and mixed. Searches look at copies of slots, or into the pool.
void add_phases(std::vector<Scenario>& to, Flavour flavour, const Items& items) {
  if (!is_gpu(flavour) || (items.variable && flavour != Flavour::resident)) return;
  ModelShape shape = two_levels(items);
  shape.cells = items.variable ? 6 : 10;
  const auto k = colliding_keys(shape, 3);
  const auto phased = [](std::vector<Operation> operations) { return Submission{std::move(operations), false, true}; };
  const auto readers = [&] { return std::vector<Submission>{one(find(k[0])), one(find(k[0])), one(find(k[1]))}; };
  const auto add = [&](const char* name, const std::vector<Operation>& setup, std::vector<Submission> changes) {
    Scenario scenario = blank(name, flavour, shape);
    scenario.setup = setup;
    scenario.callers = {std::move(changes), readers()};
    to.push_back(scenario);
  };
  const Operation there[] = {insert(k[0], 1), insert(k[1], 2)};
  add("phases: two inserts, and the reserved key", {},
      {phased({insert(k[0], 4), insert(k[1], 8), insert(kReserved, 16)})});
  add("phases: two updates", {there[0], there[1]}, {phased({assign(k[0], 4), assign(k[1], 8)})});
  add("phases: two erases", {there[0], there[1]}, {phased({erase(k[0]), erase(k[1])})});
  add("phases: an update and an insert", {there[0]}, {phased({insert_or_assign(k[0], 4), insert_or_assign(k[1], 8)})});
  add("phases: a slot is erased and filled by another key", {there[0]},
      {phased({erase(k[0])}), phased({insert(k[1], 4)})});
  add("phases: an erased key comes back", {there[0]}, {phased({erase(k[0])}), phased({insert(k[0], 4)})});
  add("phases: cells are used again", {there[0], there[1]},
      {phased({assign(k[0], 4), assign(k[1], 8)}), phased({assign(k[1], 16), assign(k[0], 32)})});
  add("phases: a line is written again after an erase", {there[0], there[1]},
      {phased({erase(k[0])}), phased({assign(k[1], 4)}), phased({insert(k[2], 8)})});
  add("phases: a line has a change and keeps what others hold", {there[0], there[1], insert(k[2], 3)},
      {phased({erase(k[1])}), one(accumulate(k[0], 4)), phased({assign(k[2], 8), insert(k[1], 16)})});
  add("phases: a key repeats", {there[0]},
      {phased({insert_or_assign(k[0], 4), insert_or_assign(k[1], 8), insert_or_assign(k[0], 16),
               insert_or_assign(k[1], 32)})});
  add("phases: erases and inserts that change nothing", {there[0]},
      {phased({insert(k[0], 4), insert(k[0], 8)}), phased({erase(k[1]), erase(k[1])}), phased({assign(k[2], 4)})});
  add("phases, then one by one", {there[0]},
      {phased({erase(k[0]), erase(k[1])}), one(insert(k[0], 4)), one(erase(k[0]))});

  add("phases, mixed: reads between the changes of their key", {there[0]},
      {phased({find(k[0]), assign(k[0], 4), find(k[0]), erase(k[0])})});
  add("phases, mixed: a key comes and goes", {}, {phased({insert(k[0], 4), find(k[0]), erase(k[0]), find(k[0])})});
  add("phases, mixed: a key goes and comes back", {there[0]},
      {phased({erase(k[0]), find(k[0]), insert(k[0], 4), find(k[0])})});
  add("phases, mixed: one key for another", {there[0]},
      {phased({erase(k[0]), insert(k[1], 4), find(k[0]), find(k[1])}), phased({erase(k[1]), insert(k[0], 8)})});
  add("phases, mixed: cells that are read are used again", {there[0], there[1]},
      {phased({find(k[0]), assign(k[0], 4), find(k[1])}), phased({find(k[0]), assign(k[1], 8), find(k[1])})});
  add("phases: finds or inserts, and the reserved key", {there[0]},
      {phased({find_or_insert(k[0], 4), find_or_insert(k[1], 8), find_or_insert(k[1], 16),
               find_or_insert(kReserved, 32)})});
  add("phases: inserts and finds", {there[0]},
      {phased({insert_and_find(k[0], 4), insert_and_find(k[1], 8), insert_and_find(k[1], 16)})});
  add("phases: sums, and the reserved key", {there[0]},
      {phased({accumulate(k[0], 4), accumulate(k[1], 8), accumulate(k[1], 16), accumulate(kReserved, 32)})});
  add("phases: a sum of a sum", {there[0], there[1]},
      {phased({accumulate(k[0], 4), accumulate(k[0], 8)}), phased({accumulate(k[1], 16), accumulate(k[0], 32)})});
  add("phases, mixed: sums that are read, and one that goes", {there[0], there[1]},
      {phased({accumulate(k[0], 4), find(k[0]), assign(k[1], 8), accumulate(k[1], 16)}),
       phased({accumulate(k[0], 32), find(k[0]), erase(k[0]), find_or_insert(k[0], 64)})});
}

/// All slots of one key's candidates are taken, by keys of which one can move.
void add_moves(std::vector<Scenario>& to, Flavour flavour, const Items& items) {
  const ModelShape shape = one_level(items);
  // Two buckets of two slots. x and m can lie in both; s lies in bucket 0 alone, so that bucket 1 keeps an empty slot.
  const auto at = [&](std::uint64_t key, std::uint64_t first, std::uint64_t second) {
    return bucket(shape, key, 0, 0) == first && bucket(shape, key, 0, 1) == second;
  };
  // m has its claim in stripe 1, those that come with bucket 0 alone have theirs in stripe 0.
  const auto m = keys_where(2, [&](const auto&, std::uint64_t key) { return at(key, 1, 0); });
  const auto m0 = keys_where(1, [&](const auto&, std::uint64_t key) { return at(key, 0, 1); });
  const auto only0 = keys_where(3, [&](const auto&, std::uint64_t key) { return at(key, 0, 0); });
  const auto only1 = keys_where(3, [&](const auto&, std::uint64_t key) { return at(key, 1, 1); });
  // Bucket 1 is filled first, so that m goes to bucket 0; then one of bucket 1 leaves.
  const std::vector<Operation> setup = {insert(only1[0], 1), insert(only1[1], 2), insert(m[0], 4), insert(only0[0], 8),
                                        erase(only1[1])};
  const auto add = [&](const char* name, std::vector<Submission> other, bool may_be_full = false) {
    Scenario scenario = blank(name, flavour, shape);
    scenario.may_be_full = may_be_full;
    scenario.setup = setup;
    scenario.callers = {{one(insert(only0[1], 16))}, std::move(other)};
    to.push_back(scenario);
  };
  add("an item moves under a search", {one(find(m[0]))});
  add("an item moves under two searches", {one(find(m[0])), one(find(only0[1]))});
  // There is room: an insert that finds the item held for a moment must not say that there is none.
  add("an item moves under an update", {one(assign(m[0], 32))});
  add("an item moves under an erase", {one(erase(m[0])), one(insert(only1[1], 64))}, true);
  add("an item moves under an insert of its own key", {one(combiner(items)(m[0], 32)), one(find(m[0]))});
  add("two inserts move the same item", {one(insert(only0[2], 32))}, true);
  add("an item moves and its old slot is taken", {one(find(m[0])), one(erase(only0[0]))});
  // The moved key's claim is the inserted key's own.
  Scenario scenario = blank("an item of the same version lock moves under a search", flavour, shape);
  scenario.may_be_full = true;
  scenario.setup = {insert(only1[0], 1), insert(only1[1], 2), insert(m0[0], 4), insert(only0[0], 8), erase(only1[1])};
  scenario.callers = {{one(insert(only0[1], 16)), one(erase(only0[1]))}, {one(find(m0[0])), one(assign(m0[0], 32))}};
  const bool few_states = (items.key_words == 1 && !items.variable) || items.value_bytes == kInSlots;
  if (few_states) to.push_back(scenario);
  scenario = blank("no slot, and none can be made", flavour, shape);
  scenario.may_be_full = true;
  scenario.setup = {insert(only0[0], 1), insert(only0[1], 2)};
  scenario.callers = {{one(insert(only0[2], 4)), one(insert(only1[0], 8))},
                      {one(erase(only0[0])), one(insert(m[0], 16))}};
  to.push_back(scenario);
}

/// Slabs get classes and change them. Values 1 and 4 are of one class, 2 and 8 of another.
void add_slabs(std::vector<Scenario>& to, Flavour flavour, const Items& items) {
  const ModelShape shape = two_levels(items);
  const auto k = colliding_keys(shape, 3);
  // Two keys of two stripes, whose inserts run side by side.
  const ModelShape spread = one_level(items);
  const auto apart = keys_where(2, [&](const std::vector<std::uint64_t>& before, std::uint64_t key) {
    return bucket(spread, key, 0, 0) == before.size();
  });
  Scenario scenario = blank("two inserts enter one slab", flavour, spread);
  scenario.callers = {{one(insert(apart[0], 1))}, {one(insert(apart[1], 4))}};
  to.push_back(scenario);

  scenario = blank("a slab changes its class under a search", flavour, shape);
  scenario.shape.cells = 3;  // the directory, the slab, and one that inserts find too small
  scenario.may_be_full = true;
  scenario.setup = {insert(k[0], 1)};
  scenario.callers = {{one(find(k[0]))}, {one(erase(k[0])), one(insert(k[1], 2)), one(insert(k[2], 8))}};
  to.push_back(scenario);

  scenario = blank("an update takes a cell of another class", flavour, shape);
  scenario.setup = {insert(k[0], 1)};
  scenario.callers = {{one(find(k[0])), one(find(k[0]))}, {one(assign(k[0], 2)), one(assign(k[0], 4))}};
  to.push_back(scenario);
}

/// Batches of pairs in phases, under searches. Values whose remainder by 3 is 2 have two words, and so a larger class.
void add_pair_phases(std::vector<Scenario>& to, Flavour flavour, const Items& items) {
  if (flavour != Flavour::resident) return;
  ModelShape shape = two_levels(items);
  shape.cells = 6;
  const auto k = colliding_keys(shape, 3);
  const auto phased = [](std::vector<Operation> operations) { return Submission{std::move(operations), false, true}; };
  const auto add = [&](const char* name, const std::vector<Operation>& setup, std::vector<Submission> changes) {
    Scenario scenario = blank(name, flavour, shape);
    scenario.setup = setup;
    scenario.callers = {std::move(changes), {one(find(k[0])), one(find(k[1]))}};
    to.push_back(scenario);
  };
  add("phases: two inserts of two classes", {}, {phased({insert(k[0], 4), insert(k[1], 8)})});
  add("phases: updates change the class", {insert(k[0], 1), insert(k[1], 2)},
      {phased({assign(k[0], 8), assign(k[1], 4)})});
  add("phases: an update, an erase and an insert", {insert(k[0], 1), insert(k[1], 2)},
      {phased({erase(k[0]), insert_or_assign(k[1], 4), insert(k[2], 8)})});
  add("phases: cells are used again", {insert(k[0], 1)}, {phased({assign(k[0], 4)}), phased({assign(k[0], 16)})});
  add("phases: a slot is erased and filled by another key", {insert(k[0], 1)},
      {phased({erase(k[0])}), phased({insert(k[1], 4)})});
  add("phases: a line is written again after an erase", {insert(k[0], 1), insert(k[1], 2)},
      {phased({erase(k[0])}), phased({assign(k[1], 4)})});
  add("phases: a key repeats", {insert(k[0], 1)}, {phased({erase(k[0]), insert(k[0], 4), insert_or_assign(k[0], 8)})});
  add("phases, then one by one", {insert(k[0], 1)}, {phased({insert(k[1], 4)}), one(assign(k[1], 8))});
}

/// Cells keep scores behind values of one word. A batch's step is 100 more than its first value.
void add_scores(std::vector<Scenario>& to, Flavour flavour, Score score) {
  ModelShape shape = two_levels({kInSlots});
  shape.score = score;
  const auto k = colliding_keys(shape, 2);
  const auto stamp = [&](Operation& operation, std::uint64_t first) {
    operation.score = score;
    operation.step = 100 + first;
  };
  const auto add = [&](const char* name, const std::vector<Operation>& setup,
                       const std::vector<std::vector<Submission>>& callers) {
    Scenario scenario = blank(name, flavour, shape);
    scenario.setup = setup;
    scenario.callers = callers;
    for (Operation& operation : scenario.setup) stamp(operation, operation.value);
    for (auto& caller : scenario.callers) {
      for (Submission& submission : caller) {
        const std::uint64_t first = submission.operations[0].value;
        for (Operation& operation : submission.operations) stamp(operation, first);
      }
    }
    to.push_back(scenario);
  };
  const std::vector<Submission> searches = {one(find(k[0])), one(find(k[0]))};
  const auto phased = [](std::vector<Operation> operations) { return Submission{std::move(operations), false, true}; };
  add("scores: an update under searches", {insert(k[0], 1)}, {{one(assign(k[0], 4))}, searches});
  add("scores: an erased key comes back", {insert(k[0], 1)}, {{one(erase(k[0])), one(insert(k[0], 2))}, searches});
  add("scores: a cell is used again under a search", {insert(k[0], 1)},
      {{one(assign(k[0], 2)), one(insert(k[1], 4))}, {one(find(k[0]))}});
  add("scores: two callers change one key", {insert(k[0], 1)},
      {{one(accumulate(k[0], 4)), one(find(k[0]))}, {one(insert_or_assign(k[0], 8))}});
  add("scores: two callers make one key", {}, {{one(insert_or_assign(k[0], 4))}, {one(accumulate(k[0], 8))}});
  add("scores: a run of changes", {insert(k[0], 1)},
      {{Submission{{accumulate(k[0], 2), assign(k[0], 4), insert(k[0], 8)}, true}}, searches});
  add("scores: a run with an erase", {insert(k[0], 1)},
      {{Submission{{accumulate(k[0], 2), erase(k[0]), insert(k[0], 4), accumulate(k[0], 8)}, true}}, searches});
  add("scores: a batch of three, and the reserved key", {insert(k[0], 1)},
      {{Submission{{assign(k[0], 2), insert(kReserved, 4), accumulate(k[0], 8)}, false}}, searches});
  if (flavour != Flavour::resident) return;
  add("phases: scores", {insert(k[0], 1)},
      {{phased({assign(k[0], 4), insert(k[1], 8), insert(kReserved, 16)}), phased({accumulate(k[0], 32), erase(k[1])})},
       searches});
  add("phases: scores of runs", {insert(k[0], 1)},
      {{phased({accumulate(k[0], 4), insert(k[0], 8), assign(k[0], 16), insert(k[1], 32)}),
        phased({accumulate(k[0], 64), erase(k[0]), insert_or_assign(k[0], 2), accumulate(k[0], 8)})},
       {one(find(k[0]))}});
}

/// A piece of `erase_if`: a look at some items, and a batch of erases. Other changes wait from the one to the other; searches do not.
void add_selected(std::vector<Scenario>& to, Flavour flavour, const Items& items) {
  if (items.key_words > 1) return;  // hundreds of thousands of states
  const ModelShape shape = two_levels(items);
  const auto k = colliding_keys(shape, 2);
  Scenario scenario = blank("a piece is looked at and some of it erased, under searches", flavour, shape);
  scenario.setup = {insert(k[0], 1), insert(k[1], 2), insert(kReserved, 4)};
  scenario.callers = {{Submission{{find(k[0]), find(k[1]), find(kReserved)}, false},
                       Submission{{erase(k[0]), erase(kReserved)}, false}, one(insert(k[0], 8))},
                      {one(find(k[0])), one(find(kReserved))}};
  to.push_back(scenario);
}

void add_growth(std::vector<Scenario>& to, Flavour flavour, const Items& items) {
  ModelShape shape = two_levels(items);
  shape.slots = 1;
  shape.spare_levels = 2;
  shape.cells = items.variable ? 6 : 10;
  // Three slots in all: level 1 has two, level 0 one.
  const auto keys = keys_where(6, [&](const auto&, std::uint64_t) { return true; });
  Scenario scenario = blank("an insert grows the table", flavour, shape);
  scenario.grows = true;
  for (unsigned i = 0; i < 2; ++i) scenario.setup.push_back(insert(keys[i], 1u << i));
  scenario.callers = {{one(insert(keys[2], 4)), one(insert(keys[3], 8)), one(insert(keys[4], 16)), one(find(keys[0])),
                       one(insert(keys[5], 32)), one(erase(keys[1]))}};
  to.push_back(scenario);
  scenario.name = std::string("the reserved key grows with the table") + suffix(shape);
  scenario.setup.push_back(insert(kReserved, 64));
  scenario.callers = {{one(insert(keys[2], 4)), one(insert(keys[3], 8)), one(combiner(items)(kReserved, 128)),
                       Submission{{insert(keys[4], 16), insert(keys[5], 32), assign(keys[2], 256)}, false}}};
  to.push_back(scenario);
  // Keys of one bucket at the next level too: the resize finds no slot and needs a further level.
  ModelShape deep = one_level(items);
  deep.slots = 1;
  deep.top_level = 0;
  deep.spare_levels = 3;
  deep.hashes = 1;
  deep.cells = items.variable ? 5 : 8;
  const auto crowd = keys_where(2, [&](const std::vector<std::uint64_t>& before, std::uint64_t key) {
    if (before.empty()) return true;
    const std::uint64_t one = candidates_of(deep, before[0]).hash(), other = candidates_of(deep, key).hash();
    return top_bits(one, 2) == top_bits(other, 2) && top_bits(one, 3) != top_bits(other, 3);
  });
  scenario = blank("one insert grows the table by three levels", flavour, deep);
  scenario.grows = true;
  scenario.setup = {insert(crowd[0], 1)};
  scenario.callers = {{one(insert(crowd[1], 2)), one(find(crowd[0]))}};
  to.push_back(scenario);
  // Four items go up as one group, with one fence.
  ModelShape full = one_level(items);
  full.spare_levels = 1;
  full.cells = items.variable ? 6 : 8;
  const auto any = keys_where(5, [&](const auto&, std::uint64_t key) {
    const Candidates candidates = candidates_of(full, key);
    return top_bits(candidates.location(0), 1) != top_bits(candidates.location(1), 1);
  });
  scenario = blank("a full level goes up", flavour, full);
  scenario.grows = true;
  for (unsigned i = 0; i < 4; ++i) scenario.setup.push_back(insert(any[i], 1u << i));
  scenario.callers = {{one(insert(any[4], 16)), one(find(any[0]))}};
  to.push_back(scenario);
}

/// An item moves, and a table grows: scores stay with their items.
void add_moved_scores(std::vector<Scenario>& to, Flavour flavour) {
  std::vector<Scenario> all;
  add_moves(all, flavour, {kInSlots});
  add_growth(all, flavour, {kInSlots});
  for (Scenario& scenario : all) {
    if (!scenario.grows && scenario.name.rfind("an item moves under a search", 0) != 0) continue;  // too many states
    const auto name_end = scenario.name.rfind(", values");
    scenario.shape.score = Score::frequency;
    scenario.name = "scores: " + scenario.name.substr(0, name_end) + suffix(scenario.shape);
    for (Operation& operation : scenario.setup) operation.score = Score::frequency;
    for (auto& caller : scenario.callers) {
      for (Submission& submission : caller) {
        for (Operation& operation : submission.operations) operation.score = Score::frequency;
      }
    }
    to.push_back(scenario);
  }
}

}  // namespace

Scenario blank(const std::string& name, Flavour flavour, const ModelShape& shape) {
  Scenario scenario;
  scenario.name = name + suffix(shape);
  scenario.flavour = flavour;
  scenario.shape = shape;
  return scenario;
}

std::vector<Scenario> schedules(Flavour flavour) {
  // Those with few states come first: most mutants die there.
  std::vector<Scenario> scenarios;
  add_slabs(scenarios, flavour, kPairs);
  add_groups(scenarios, flavour);
  for (const Score score : {Score::step, Score::frequency}) add_scores(scenarios, flavour, score);
  for (const auto& add :
       {add_growth, add_reuse, add_phases, add_moves, add_runs, add_columns, add_column_phases, add_selected}) {
    for (const unsigned key_words : {1u, 2u}) {
      for (const unsigned value_bytes : {kInCells, kInSlots}) add(scenarios, flavour, {value_bytes, key_words});
    }
  }
  add_moved_scores(scenarios, flavour);
  for (const auto& add : {add_growth, add_reuse, add_pair_phases, add_moves, add_runs}) add(scenarios, flavour, kPairs);
  return scenarios;
}

}  // namespace holdfast::gphash::model
