// scenarios.cpp: finds keys that collide as they should, and puts operations together in all short ways.
#include "scenarios.hpp"

#include <algorithm>
#include <string>

namespace holdfast::gphash::model {

namespace {

Operation made(Op op, std::uint64_t key, std::uint64_t value) {
  Operation operation;
  operation.op = op;
  operation.key = key;
  operation.value = value;
  return operation;
}

gphash::View<gphash::RuntimeShape> view_of(const ModelShape& shape) {
  gphash::View<gphash::RuntimeShape> view;
  // Here keys of variable length are no more than their hashes, as wide ones are.
  view.shape = {shape.levels, shape.hashes, shape.slots, shape.variable ? kKeyWords : shape.key_words};
  view.top_level = shape.top_level;
  view.seed = shape.seed;
  return view;
}

}  // namespace

Candidates candidates_of(const ModelShape& shape, std::uint64_t key) {
  std::uint64_t words[kKeyWords];
  encode_key(key, shape, words);
  const auto word = [&](unsigned i) { return words[i]; };
  if (shape.variable) return {view_of(shape), {hash_bytes(sizeof words, shape.seed, word), nullptr, false}};
  if (shape.key_words == 1) return {view_of(shape), key};
  return {view_of(shape), {hash_words(shape.key_words, shape.seed, word), nullptr, false}};
}

std::uint64_t bucket(const ModelShape& shape, std::uint64_t key, unsigned rank, unsigned j) {
  return candidates_of(shape, key).bucket(view_of(shape), rank, j);
}

Submission one(Operation operation) { return {{operation}, false}; }

std::string suffix(const ModelShape& shape) {
  if (shape.variable) return ", variable-length pairs";
  if (shape.score != Score::none) return std::string(", ") + name(shape.score);
  return std::string(shape.key_words > 1 ? ", wide keys" : "") +
         (shape.value_bytes == kInSlots ? ", values in slots" : ", values in cells");
}

namespace {

bool same_buckets(const ModelShape& shape, std::uint64_t a, std::uint64_t b) {
  for (unsigned rank = 0; rank < shape.levels; ++rank) {
    for (unsigned j = 0; j < shape.hashes; ++j) {
      if (bucket(shape, a, rank, j) != bucket(shape, b, rank, j)) return false;
    }
  }
  return true;
}

constexpr Op kAll[] = {Op::insert, Op::insert_or_assign, Op::assign,          Op::find,      Op::contains,
                       Op::erase,  Op::find_or_insert,   Op::insert_and_find, Op::accumulate};
constexpr const char* kNames[] = {"insert", "insert_or_assign", "assign",          "find",      "contains",
                                  "erase",  "find_or_insert",   "insert_and_find", "accumulate"};
const char* name(Op op) { return kNames[static_cast<unsigned>(op)]; }

}  // namespace

Operation insert(std::uint64_t key, std::uint64_t value) { return made(Op::insert, key, value); }
Operation insert_or_assign(std::uint64_t key, std::uint64_t value) { return made(Op::insert_or_assign, key, value); }
Operation assign(std::uint64_t key, std::uint64_t value) { return made(Op::assign, key, value); }
Operation find(std::uint64_t key) { return made(Op::find, key, 0); }
Operation erase(std::uint64_t key) { return made(Op::erase, key, 0); }
Operation accumulate(std::uint64_t key, std::uint64_t value) { return made(Op::accumulate, key, value); }
Operation find_or_insert(std::uint64_t key, std::uint64_t value) { return made(Op::find_or_insert, key, value); }
Operation insert_and_find(std::uint64_t key, std::uint64_t value) { return made(Op::insert_and_find, key, value); }

namespace {
void set_variable(ModelShape& shape, const Items& items) {
  shape.variable = items.variable;
  if (items.variable) shape.cells = 5;  // slabs: their directory, and four
}
}  // namespace

ModelShape two_levels(const Items& items) {
  ModelShape shape;
  shape.value_bytes = items.value_bytes;
  shape.key_words = items.key_words;
  set_variable(shape, items);
  return shape;
}

ModelShape one_level(const Items& items) {
  ModelShape shape;
  shape.levels = 1;
  shape.value_bytes = items.value_bytes;
  shape.key_words = items.key_words;
  set_variable(shape, items);
  return shape;
}

std::vector<std::uint64_t> keys_where(
    unsigned count, const std::function<bool(const std::vector<std::uint64_t>&, std::uint64_t)>& fits) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 1; keys.size() < count && key < 1'000'000; ++key) {
    if (fits(keys, key)) keys.push_back(key);
  }
  return keys;
}

std::vector<std::uint64_t> colliding_keys(const ModelShape& shape, unsigned count) {
  if (shape.key_words > 1 || shape.variable) {
    auto keys = keys_where(
        1, [&](const auto&, std::uint64_t key) { return bucket(shape, key, 0, 0) != bucket(shape, key, 0, 1); });
    while (keys.size() < count) keys.push_back(keys[0] + (std::uint64_t{keys.size()} << 32));
    return keys;
  }
  return keys_where(count, [&](const std::vector<std::uint64_t>& before, std::uint64_t key) {
    if (bucket(shape, key, 0, 0) == bucket(shape, key, 0, 1)) return false;
    return before.empty() || (same_buckets(shape, before[0], key) &&
                              candidates_of(shape, before[0]).tag() == candidates_of(shape, key).tag());
  });
}

std::vector<Scenario> pairs(Flavour flavour) {
  std::vector<Scenario> scenarios;
  for (const Items items : {Items{kInCells}, Items{kInSlots}, Items{kInCells, 2}, kPairs}) {
    const ModelShape shape = two_levels(items);
    const auto keys = colliding_keys(shape, 2);
    for (const Op a : kAll) {
      for (const Op b : kAll) {
        if (items.variable && (a == Op::accumulate || b == Op::accumulate)) continue;
        for (const std::uint64_t first : {keys[0], kReserved}) {
          for (const bool same : {true, false}) {
            for (const bool there : {true, false}) {
              Scenario scenario;
              scenario.name = std::string(name(a)) + " | " + name(b) + (same ? " on one key" : " on two keys") +
                              (there ? ", there before" : "") + (first == kReserved ? ", reserved" : "") +
                              suffix(shape);
              scenario.flavour = flavour;
              scenario.shape = shape;
              const std::uint64_t second = same ? first : keys[1];
              if (there) scenario.setup = {insert(first, 1)};
              if (there && !same) scenario.setup.push_back(insert(second, 2));
              scenario.callers = {{one(made(a, first, 4))}, {one(made(b, second, 8))}};
              scenarios.push_back(scenario);
            }
          }
        }
      }
    }
  }
  return scenarios;
}

std::vector<Scenario> quadruples(Flavour flavour, unsigned one_in) {
  static constexpr Op kFew[] = {Op::insert_or_assign, Op::erase, Op::find, Op::accumulate};
  std::vector<Scenario> scenarios;
  unsigned number = 0;
  for (const Items items : {Items{kInCells}, Items{kInSlots}, Items{kInCells, 2}}) {
    const ModelShape shape = two_levels(items);
    const auto keys = colliding_keys(shape, 2);
    for (unsigned code = 0; code < 256; ++code) {
      const Op ops[] = {kFew[code & 3], kFew[code >> 2 & 3], kFew[code >> 4 & 3], kFew[code >> 6 & 3]};
      for (unsigned pattern = 0; pattern < 4; ++pattern) {
        if (mix(number++) % one_in != 0) continue;
        const std::uint64_t key[] = {keys[0], pattern & 1 ? keys[0] : keys[1], keys[0],
                                     pattern & 2 ? kReserved : keys[1]};
        Scenario scenario;
        scenario.name = std::string(name(ops[0])) + ", " + name(ops[1]) + " | " + name(ops[2]) + ", " + name(ops[3]) +
                        ", keys " + std::to_string(pattern) + suffix(shape);
        scenario.flavour = flavour;
        scenario.shape = shape;
        scenario.setup = {insert(keys[0], 1)};
        scenario.callers = {{one(made(ops[0], key[0], 2)), one(made(ops[1], key[1], 4))},
                            {one(made(ops[2], key[2], 8)), one(made(ops[3], key[3], 16))}};
        scenarios.push_back(scenario);
      }
    }
  }
  return scenarios;
}

}  // namespace holdfast::gphash::model
