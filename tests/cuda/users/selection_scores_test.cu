// selection_scores_test.cu: selections by predicates on the GPU that ask for scores, against what the host reads in the pool.
#include "cuda/users/selections.cuh"

namespace holdfast::test {
namespace {

struct Scored {
  Value value;
  std::uint64_t score = 0;
};
using ScoredItems = std::map<std::uint64_t, Scored>;

template <class Key>
class ScoredSelections {
 public:
  explicit ScoredSelections(Shape shape) : gpu_(with_keys(shape), 16), bytes_(shape.value_bytes) {}

  /// Changes of all kinds, small and large, and what they leave.
  void change(std::size_t n, std::uint64_t step) {
    if (table().score() == Score::step) gpu_.set_step(step);
    gpu_.round(n, 2 * n, false, Op::insert_or_assign);
    if (bytes_ != 0) gpu_.round(n, 2 * n, true, Op::find);
    items_ = read();
  }

  void look() {
    std::uint64_t limit = 0;  // between them
    for (const auto& [number, item] : items_) limit = std::max(limit, item.score);
    const Below below{limit};
    const auto is_below = [&](const Scored& item) { return item.score < limit; };
    EXPECT_EQ(size_if<Key>(table(), stream_.stream, by_score(below)), count(is_below));
    EXPECT_EQ(size_if<void>(table(), stream_.stream, by_score(below)), count(is_below));
    expect_given(by_score(below), is_below);
    expect_given(by_key(Every{}), [](const Scored&) { return true; });  // scores are only copied
    if (bytes_ == 0) return;
    const ByAll by_all{bytes_};
    const auto holds = [&](const Scored& item) { return by_all.holds(item.value.data(), item.score); };
    EXPECT_EQ(size_if<Key>(table(), stream_.stream, with_score(by_all)), count(holds));
    expect_given(with_score(by_all), holds);
    DeviceSelection part;
    for (part.column = 1; part.column < bytes_; part.column += 1 + bytes_ / 3) {
      part.column_bytes = bytes_ - part.column < 3 ? 1 : 2;
      const ByAll by_part{part.column_bytes};
      const auto in_part = [&](const Scored& item) {
        return by_part.holds(item.value.data() + part.column, item.score);
      };
      EXPECT_EQ(size_if<Key>(table(), stream_.stream, with_score(by_part), part), count(in_part)) << part.column;
      expect_given(with_score(by_part), in_part, part);
    }
  }

  void erase_below(std::uint64_t limit) {
    const std::uint64_t gone = count([&](const Scored& item) { return item.score < limit; });
    EXPECT_EQ(erase_if<Key>(table(), stream_.stream, by_score(Below{limit})), gone);
    for (const auto& [number, item] : items_) {
      if (item.score < limit) gpu_.oracle.apply(Op::erase, number, {});
    }
    gpu_.verify();
    items_ = read();
    EXPECT_EQ(count([&](const Scored& item) { return item.score < limit; }), 0u);
  }

  GpuTable& gpu() { return gpu_; }
  Table& table() { return gpu_.table->table(); }

 private:
  static Shape with_keys(Shape shape) {
    shape.key_bytes = sizeof(Key);
    return shape;
  }

  template <class Holds>
  std::uint64_t count(const Holds& holds) const {
    return static_cast<std::uint64_t>(
        std::count_if(items_.begin(), items_.end(), [&](const auto& item) { return holds(item.second); }));
  }

  ScoredItems read() {
    const std::uint64_t size = table().size();
    std::vector<std::byte> keys(size * sizeof(Key) + 1);
    std::vector<std::uint8_t> values(size * bytes_ + 1);
    std::vector<std::uint64_t> scores(size + 1);
    std::uint64_t cursor = 0;
    EXPECT_EQ(table().export_batch(cursor, keys.data(), values.data(), size, scores.data()), size);
    return items_of(size, keys, values, scores);
  }

  ScoredItems items_of(std::uint64_t n, const std::vector<std::byte>& keys, const std::vector<std::uint8_t>& values,
                       const std::vector<std::uint64_t>& scores) const {
    ScoredItems items;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t number = gpu_.table->number_of(keys.data() + i * sizeof(Key));
      EXPECT_TRUE(items.emplace(number, Scored{{&values[i * bytes_], &values[(i + 1) * bytes_]}, scores[i]}).second);
    }
    return items;
  }

  /// What is exported has the keys, the values and the scores of those that are meant.
  template <class Predicate, class Holds>
  void expect_given(const Predicate& predicate, const Holds& holds, const DeviceSelection& selection = {}) {
    const std::uint64_t all = count(holds), space = items_.size();
    const OnGpu<std::byte> gpu_keys(space * sizeof(Key));
    const OnGpu<std::uint8_t> gpu_values(space * bytes_);
    const OnGpu<std::uint64_t> gpu_scores(space);
    const Chosen chosen = export_if<Key>(table(), stream_.stream, predicate, gpu_keys.get(), gpu_values.get(), space,
                                         selection, gpu_scores.get());
    ASSERT_EQ(chosen.all, all);
    ASSERT_EQ(chosen.given, all);
    std::vector<std::byte> keys(space * sizeof(Key) + 1);
    std::vector<std::uint8_t> values(space * bytes_ + 1);
    std::vector<std::uint64_t> scores(space + 1);
    gpu_keys.copy_to(keys.data(), all * sizeof(Key));
    gpu_values.copy_to(values.data(), all * bytes_);
    gpu_scores.copy_to(scores.data(), all);
    for (const auto& [number, item] : items_of(all, keys, values, scores)) {
      const auto right = items_.find(number);
      ASSERT_NE(right, items_.end()) << "key " << number;
      EXPECT_TRUE(holds(item)) << "key " << number;
      EXPECT_EQ(item.score, right->second.score) << "key " << number;
      EXPECT_EQ(item.value, right->second.value) << "key " << number;
    }
  }

  GpuTable gpu_;
  const std::uint32_t bytes_;
  TestStream stream_;
  ScoredItems items_;
};

/// In turn operation by operation and in phases, where steps go so.
template <class Key>
void scores_against_the_pool(Shape shape, Score score, std::size_t n = 300) {
  shape.score = score;
  ScoredSelections<Key> selections(shape);
  for (unsigned turn = 1; turn <= 4; ++turn) {
    selections.change(turn % 2 == 0 ? 20 * n : n, 10 * turn);
    if (turn == 2) selections.gpu().table->load_cache();  // where there is one
    selections.look();
    if (testing::Test::HasFailure()) return;
  }
  selections.erase_below(score == Score::step ? 20 : 2);
  selections.look();
}

Shape with_values(std::uint32_t bytes, double value_copies = 0) {
  Shape shape;
  shape.value_bytes = bytes;
  shape.cache.ratio = value_copies;
  return shape;
}

TEST(GpuSelectionByScores, SmallTablesAgainstThePool) {
  HOLDFAST_NEEDS_GPU();
  for (const std::uint32_t bytes : {0u, 3u, 8u, 13u, 64u, 120u})
    scores_against_the_pool<std::uint64_t>(with_values(bytes), Score::step);
  scores_against_the_pool<Words<2>>(with_values(24), Score::step);
  scores_against_the_pool<std::uint64_t>(with_values(16), Score::frequency);
}
TEST(GpuSelectionByScores, SmallCopiesOfValuesAgainstThePool) {
  HOLDFAST_NEEDS_GPU();
  for (const double part : {0.3, 1.0}) {
    scores_against_the_pool<std::uint64_t>(with_values(64, part), Score::step);
    scores_against_the_pool<std::uint64_t>(with_values(8, part), Score::step);
    scores_against_the_pool<Words<4>>(with_values(24, part), Score::frequency);
  }
}
TEST(GpuSelectionByScores, SmallPoolWithoutCopiesAgainstThePool) {
  HOLDFAST_NEEDS_GPU();
  for (const std::uint32_t bytes : {8u, 40u}) {
    Shape shape = with_values(bytes);
    shape.gpu_memory = 0;
    scores_against_the_pool<std::uint64_t>(shape, Score::step);
    scores_against_the_pool<Words<2>>(shape, Score::step);
  }
}

TEST(GpuSelectionByScores, OthersAreRefused) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(with_values(8));
  Table& table = gpu.table->table();
  const TestStream stream;
  const OnGpu<std::uint64_t> keys(1), scores(1);
  EXPECT_THROW(size_if(table, stream.stream, by_score(Below{1})), InvalidArgument);
  EXPECT_THROW(export_if(table, stream.stream, by_key(Every{}), keys.get(), nullptr, 1, {}, scores.get()),
               InvalidArgument);
  EXPECT_EQ(size_if(table, stream.stream, by_key(Every{})), 0u);
}

}  // namespace
}  // namespace holdfast::test
