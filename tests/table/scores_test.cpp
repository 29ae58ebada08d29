// scores_test.cpp: the 8 bytes that a table keeps with each item: set by every change, kept by everything else, and chosen by.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "holdfast/table.hpp"

namespace holdfast::test {
namespace {

struct Kind {
  Score score;
  std::uint32_t value_bytes, key_bytes = 8;
  bool flush = false;
};

std::string path_of(const char* what) {
  return std::string("/dev/shm/holdfast-scores-") + what + "-" + std::to_string(getpid()) + ".hold";
}

class Scores : public testing::TestWithParam<Kind> {
 protected:
  Scores() : path_(path_of("table")) {
    CreateOptions options;
    options.shape.key_bytes = GetParam().key_bytes;
    options.shape.value_bytes = GetParam().value_bytes;
    options.shape.score = GetParam().score;
    options.shape.capacity = 16;
    options.runtime.device = "cpu";
    options.runtime.threads = 2;
    options.overwrite = true;
    options.tuning.flush = GetParam().flush;
    table_ = std::make_unique<Table>(Table::create(path_, options));
  }
  ~Scores() override { unlink(path_.c_str()); }

  struct Item {
    std::string value;
    std::uint64_t score = 0;
  };

  std::vector<std::byte> key_array(const std::vector<std::uint64_t>& keys) const {
    std::vector<std::byte> bytes(keys.size() * GetParam().key_bytes);
    for (std::size_t i = 0; i < keys.size(); ++i)
      std::memcpy(bytes.data() + i * GetParam().key_bytes, &keys[i], sizeof keys[i]);
    return bytes;
  }

  static std::uint64_t now() {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
  }

  /// What a change that writes the value leaves.
  void touch(Item& item) {
    switch (GetParam().score) {
      case Score::frequency: ++item.score; break;
      case Score::step: item.score = step_; break;
      default: item.score = 0;  // of time: since `begun_`
    }
  }

  /// Applies one operation to the model.
  Status apply(Op op, std::uint64_t key, const std::string& row) {
    const auto at = model_.find(key);
    const bool was_there = at != model_.end();
    const auto put = [&] {
      Item& item = model_[key];
      item.value = row;
      touch(item);
    };
    switch (op) {
      case Op::find:
      case Op::contains: return was_there ? Status::found : Status::not_found;
      case Op::erase: model_.erase(key); return was_there ? Status::erased : Status::not_found;
      case Op::assign:
        if (was_there) put();
        return was_there ? Status::updated : Status::not_found;
      case Op::insert:
      case Op::insert_and_find:
        if (!was_there) put();
        return was_there ? Status::exists : Status::inserted;
      case Op::find_or_insert:
        if (!was_there) put();
        return was_there ? Status::found : Status::inserted;
      case Op::insert_or_assign: put(); return was_there ? Status::updated : Status::inserted;
      case Op::accumulate: break;
    }
    Item& item = model_[key];
    item.value.resize(row.size(), '\0');
    for (std::size_t i = 0; i < row.size(); i += 4) {
      std::uint32_t a, b;
      std::memcpy(&a, item.value.data() + i, 4);
      std::memcpy(&b, row.data() + i, 4);
      a += b;
      std::memcpy(item.value.data() + i, &a, 4);
    }
    touch(item);
    return was_there ? Status::updated : Status::inserted;
  }

  void round(std::size_t n, std::uint64_t keys, bool mixed, Op op) {
    const std::uint32_t bytes = GetParam().value_bytes;
    std::vector<std::uint64_t> key(n);
    std::vector<std::uint8_t> ops(n, static_cast<std::uint8_t>(op)), values(n * bytes + 1), out(n * bytes + 1);
    std::vector<Status> statuses(n);
    for (std::size_t i = 0; i < n; ++i) {
      key[i] = random_() % keys;
      if (mixed) ops[i] = static_cast<std::uint8_t>(random_() % kOps);
    }
    for (auto& byte : values) byte = static_cast<std::uint8_t>(random_());
    if (GetParam().score == Score::step) table_->set_step(step_ = random_());
    const auto given = key_array(key);
    Batch batch;
    batch.size = n;
    batch.op = op;
    batch.ops = mixed ? ops.data() : nullptr;
    batch.keys = given.data();
    batch.values = values.data();
    batch.out = out.data();
    batch.statuses = statuses.data();
    batch.accumulate = Accumulate{.element = Element::u32};
    table_->run(batch);
    for (std::size_t i = 0; i < n; ++i) {
      const std::string row(reinterpret_cast<const char*>(values.data()) + i * bytes, bytes);
      ASSERT_EQ(statuses[i], apply(static_cast<Op>(ops[i]), key[i], row)) << "row " << i << " op " << int(ops[i]);
    }
  }

  bool agrees(std::uint64_t score, const Item& item) const {
    if (GetParam().score != Score::time) return score == item.score;
    return begun_ <= score && score <= now();
  }

  void verify() {
    ASSERT_EQ(table_->size(), model_.size());
    std::vector<std::uint64_t> keys;
    for (const auto& [key, item] : model_) keys.push_back(key);
    keys.push_back(~std::uint64_t{0} - 7);  // absent
    const auto given = key_array(keys);
    const std::uint32_t bytes = GetParam().value_bytes;
    std::vector<std::uint64_t> scores(keys.size(), 77), with_values(keys.size(), 77);
    std::vector<std::uint8_t> out(keys.size() * bytes + 1);
    const auto found = std::make_unique<bool[]>(keys.size());
    table_->scores(given.data(), scores.data(), keys.size(), found.get());
    Batch batch;
    batch.size = keys.size();
    batch.op = Op::find;
    batch.keys = given.data();
    batch.out = out.data();
    batch.scores = with_values.data();
    table_->run(batch);
    for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
      const Item& item = model_.at(keys[i]);
      ASSERT_TRUE(found[i]);
      ASSERT_TRUE(agrees(scores[i], item)) << "key " << keys[i] << ": " << scores[i] << ", not " << item.score;
      ASSERT_EQ(with_values[i], scores[i]);
      ASSERT_EQ(std::string(reinterpret_cast<const char*>(out.data()) + i * bytes, bytes), item.value);
    }
    EXPECT_FALSE(found[keys.size() - 1]);
    EXPECT_EQ(scores.back(), 0u);
    EXPECT_EQ(with_values.back(), 0u);
    const CheckReport report = table_->check();
    ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  }

  const std::string path_;
  std::unique_ptr<Table> table_;
  std::map<std::uint64_t, Item> model_;
  std::mt19937_64 random_{7};
  std::uint64_t step_ = 0;
  const std::uint64_t begun_ = now();
};

INSTANTIATE_TEST_SUITE_P(Kinds, Scores,
                         testing::Values(Kind{Score::step, 4}, Kind{Score::step, 24, 32}, Kind{Score::time, 8},
                                         Kind{Score::frequency, 0}, Kind{Score::frequency, 4, 16},
                                         Kind{Score::frequency, 8}, Kind{Score::frequency, 24, 8, true},
                                         Kind{Score::frequency, 300}));

TEST_P(Scores, EveryOperationAgreesWithAModel) {
  for (int i = 0; i < 40; ++i) {
    for (unsigned op = 0; op < kOps; ++op) ASSERT_NO_FATAL_FAILURE(round(40, 100, false, static_cast<Op>(op)));
    ASSERT_NO_FATAL_FAILURE(round(60, 100, true, Op::find));
  }
  ASSERT_NO_FATAL_FAILURE(verify());
  // Enough for several threads, repeats of keys, moves and growth.
  ASSERT_NO_FATAL_FAILURE(round(20'000, 3000, false, Op::insert_or_assign));
  ASSERT_NO_FATAL_FAILURE(round(20'000, 3000, true, Op::find));
  ASSERT_NO_FATAL_FAILURE(verify());
  const std::string copy = path_of("copy");
  SnapshotOptions over;
  over.overwrite = true;
  table_->snapshot(copy, over);
  table_->close();
  for (const std::string& path : {path_, copy}) {
    EXPECT_EQ(inspect(path).objects.at(0).table.score, GetParam().score);
    OpenOptions options;
    options.runtime.device = "cpu";
    table_ = std::make_unique<Table>(Table::open(path, options));
    EXPECT_EQ(table_->score(), GetParam().score);
    std::uint64_t newest = 0;
    for (const auto& [key, item] : model_) newest = std::max(newest, item.score);
    EXPECT_GE(table_->step(), GetParam().score == Score::step ? newest : 0) << "later rows would be older ones";
    ASSERT_NO_FATAL_FAILURE(verify());
  }
  unlink(copy.c_str());
}

class ScoresOfColumns : public Scores {};
INSTANTIATE_TEST_SUITE_P(Kinds, ScoresOfColumns,
                         testing::Values(Kind{Score::step, 8}, Kind{Score::time, 24}, Kind{Score::frequency, 12}));

TEST_P(ScoresOfColumns, AreSetByTheirChanges) {
  const std::uint64_t key = 5;
  const std::string value(GetParam().value_bytes, 'v');
  table_->insert(&key, value.data(), 1);
  if (GetParam().score == Score::step) table_->set_step(9);
  Batch batch;
  batch.size = 1;
  batch.op = Op::assign;
  batch.keys = &key;
  batch.values = value.data();
  batch.column = Column{.begin = 4, .bytes = 4};
  std::uint64_t before = 0, score = 0;
  table_->scores(&key, &before, 1);
  table_->run(batch);
  table_->scores(&key, &score, 1);
  const bool by_time = GetParam().score == Score::time;
  const std::uint64_t expected = by_time ? score : GetParam().score == Score::step ? 9 : 2;
  EXPECT_EQ(score, expected);
  EXPECT_GE(score, by_time ? before : 0);
}

TEST(ScoreSelections, ChooseByScore) {
  const std::string path = path_of("selected");
  CreateOptions options;
  options.shape.value_bytes = 8;
  options.shape.score = Score::step;
  options.runtime.device = "cpu";
  options.overwrite = true;
  Table table = Table::create(path, options);
  constexpr std::uint64_t kKeys = 30'000;
  for (std::uint64_t step = 0; step < 3; ++step) {
    std::vector<std::uint64_t> keys;
    for (std::uint64_t key = step; key < kKeys; key += 3) keys.push_back(key);
    table.set_step(step + 10);
    table.insert(keys.data(), keys.data(), keys.size());
  }
  Selection selection;
  EXPECT_EQ(table.size_if(selection), kKeys);
  selection.least_score = 11;
  EXPECT_EQ(table.size_if(selection), 2 * kKeys / 3);
  selection.greatest_score = 11;
  EXPECT_EQ(table.size_if(selection), kKeys / 3);
  const std::uint64_t last = 299;
  selection.last = &last;
  EXPECT_EQ(table.size_if(selection), 100u);
  selection.where = [](const void* key, const void*) { return *static_cast<const std::uint64_t*>(key) % 2 == 0; };
  EXPECT_EQ(table.size_if(selection), 50u);

  std::uint64_t cursor = 0, keys[100], values[100], scores[100];
  ASSERT_EQ(table.export_if(selection, cursor, keys, values, 100, scores), 50u);
  for (unsigned i = 0; i < 50; ++i) {
    EXPECT_EQ(keys[i] % 6, 4u);
    EXPECT_EQ(values[i], keys[i]);
    EXPECT_EQ(scores[i], 11u);
  }
  cursor = 0;
  EXPECT_EQ(table.export_if(selection, cursor, keys, nullptr, 100), 50u);
  EXPECT_EQ(table.erase_if(selection), 50u);
  Selection old;
  old.greatest_score = 11;
  EXPECT_EQ(table.erase_if(old), 2 * kKeys / 3 - 50);
  EXPECT_EQ(table.size(), kKeys / 3);
  old.least_score = 12;  // above the greatest: nothing is meant
  EXPECT_EQ(table.size_if(old), 0u);

  std::vector<std::uint64_t> all(kKeys), all_scores(kKeys, 0);
  cursor = 0;
  ASSERT_EQ(table.export_batch(cursor, all.data(), nullptr, kKeys, all_scores.data()), kKeys / 3);
  EXPECT_EQ(std::count(all_scores.begin(), all_scores.end(), 12u), static_cast<std::ptrdiff_t>(kKeys / 3));
  unlink(path.c_str());
}

TEST(ScoreErrors, SayWhatToDo) {
  const std::string path = path_of("errors");
  CreateOptions options;
  options.runtime.device = "cpu";
  options.overwrite = true;
  Table plain = Table::create(path, options);
  EXPECT_EQ(plain.score(), Score::none);
  const std::uint64_t key = 1;
  std::uint64_t score = 0, cursor = 0;
  EXPECT_THROW(plain.set_step(1), InvalidArgument);
  EXPECT_THROW(plain.scores(&key, &score, 1), InvalidArgument);
  std::uint64_t to = 0;
  EXPECT_THROW(plain.export_batch(cursor, &to, nullptr, 1, &score), InvalidArgument);
  Selection selection;
  EXPECT_THROW(plain.export_if(selection, cursor, &to, nullptr, 1, &score), InvalidArgument);
  selection.least_score = 1;
  EXPECT_THROW(plain.size_if(selection), InvalidArgument);
  EXPECT_THROW(plain.erase_if(selection), InvalidArgument);
  EXPECT_THROW(plain.export_if(selection, cursor, &to, nullptr, 1), InvalidArgument);
  plain.close();

  options.shape.score = Score::frequency;
  Table counting = Table::create(path, options);
  EXPECT_THROW(counting.set_step(1), InvalidArgument);
  Batch batch;
  batch.op = Op::insert;
  batch.size = 1;
  batch.keys = batch.values = &key;
  batch.scores = &score;
  EXPECT_THROW(counting.run(batch), InvalidArgument);
  EXPECT_EQ(counting.size(), 0u);
  counting.close();
  EXPECT_THROW(counting.set_step(1), TableClosed);

  options.shape.score = static_cast<Score>(9);
  EXPECT_THROW(Table::create(path, options), InvalidArgument);
  options.shape.score = Score::time;
  options.shape.key_bytes = options.shape.value_bytes = kVariableBytes;
  EXPECT_THROW(Table::create(path, options), InvalidArgument);
  EXPECT_THROW(score_from("age"), InvalidArgument);
  EXPECT_EQ(score_from("time"), Score::time);
  unlink(path.c_str());
}

}  // namespace
}  // namespace holdfast::test
