// scores_test.cpp: the 8 bytes that a table keeps with each item: set by every change, kept by everything else, and chosen by.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "conformance/checked.hpp"
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

  const std::string path_;
  std::unique_ptr<Table> table_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, Scores,
                         testing::Values(Kind{Score::step, 4}, Kind{Score::step, 24, 32}, Kind{Score::time, 8},
                                         Kind{Score::frequency, 0}, Kind{Score::frequency, 4, 16},
                                         Kind{Score::frequency, 8}, Kind{Score::frequency, 24, 8, true},
                                         Kind{Score::frequency, 300}));

TEST_P(Scores, GoWithASnapshotAndAreThereAgain) {
  Checked<Table> checked({GetParam().key_bytes, GetParam().value_bytes, 0, GetParam().score});
  ASSERT_NO_FATAL_FAILURE(checked.rounds(*table_, 200, 300));
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
    for (const auto& item : checked.oracle.scores()) newest = std::max(newest, item.second);
    EXPECT_GE(table_->step(), GetParam().score == Score::step ? newest : 0) << "later rows would be older ones";
    ASSERT_NO_FATAL_FAILURE(checked.verify(*table_));
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
  EXPECT_THROW(counting.set_step(1), ObjectClosed);

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
