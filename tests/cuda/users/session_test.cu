// session_test.cu: sessions of users' kernels against the oracle, and all warps on the same keys.
#include "cuda/users/sessions.cuh"

namespace holdfast::test {
namespace {

struct Twelve {
  std::uint32_t part[3];
};
struct Nothing {};

/// What the rows of a kernel are; a pointer may be null where no row needs it.
template <class Key, class Value>
struct KernelRows {
  const Key* keys;
  const Value* values;
  const std::uint8_t* ops;
  Value* out;
  Status* statuses;
  std::uint64_t size;
};

/// Rows with equal keys go to one warp, in array order, so that the oracle knows what each answers.
template <class Ref, class Key, class Value>
__global__ void carry_out(Ref table, KernelRows<Key, Value> rows, Combine how, Element element) {
  const auto warp = this_warp();
  const unsigned number = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  const unsigned warps = gridDim.x * warp.meta_group_size();
  for (std::uint64_t row = 0; row < rows.size; ++row) {
    const Key key = rows.keys[row];  // each lane's own
    if (*reinterpret_cast<const std::uint64_t*>(&key) % warps != number) continue;
    const Value& value = rows.values[row];  // where all lanes see it
    Status status = Status::not_run;
    switch (static_cast<Op>(rows.ops[row])) {
      case Op::insert: status = table.insert(warp, key, value); break;
      case Op::insert_or_assign: status = table.insert_or_assign(warp, key, Value(value)); break;
      case Op::assign: status = table.assign(warp, key, value); break;
      case Op::erase: status = table.erase(warp, key); break;
      case Op::accumulate: status = table.accumulate(warp, key, value, how, element); break;
      case Op::contains: status = table.contains(warp, key) ? Status::found : Status::not_found; break;
      default: {
        Value seen{};
        const bool found = row % 2 == 0 ? table.find(warp, key, seen) : table.copy(warp, key, rows.out + row);
        if (row % 2 == 0 && found && warp.thread_rank() == row % 32) rows.out[row] = seen;
        status = found ? Status::found : Status::not_found;
      }
    }
    if (warp.thread_rank() == 0) rows.statuses[row] = status;
  }
}

template <class Key, class Value>
class SessionRounds {
 public:
  static constexpr std::uint32_t kValueBytes = TableRef<Key, Value>::kValueBytes;

  SessionRounds(Shape shape, std::uint64_t capacity) : gpu(with_sizes(shape), capacity) {}

  /// A session of one kernel, of `blocks` blocks.
  void round(std::size_t n, std::uint64_t range, unsigned blocks, std::uint64_t step = 0) {
    Rows rows(n, kValueBytes);
    constexpr Op kDone[] = {Op::insert, Op::insert_or_assign, Op::assign,    Op::erase,
                            Op::find,   Op::contains,         Op::accumulate};
    const bool accumulates = kValueBytes % 4 == 0 && kValueBytes != 0;
    for (std::size_t i = 0; i < n; ++i) {
      rows.keys[i] = gpu.some_key(range);
      rows.ops[i] = static_cast<std::uint8_t>(kDone[gpu.random() % (accumulates ? 7 : 6)]);
    }
    for (std::uint8_t& byte : rows.values) byte = static_cast<std::uint8_t>(gpu.random());
    const auto how = static_cast<Combine>(gpu.random() % 3);
    const Element element = gpu.random() % 2 == 0 || kValueBytes % 8 != 0 ? Element::u32 : Element::i64;
    const std::vector<std::byte> keys = gpu.keys_of(rows.keys);
    const OnGpu<Key> gpu_keys(reinterpret_cast<const Key*>(keys.data()), n);
    std::vector<Value> values(n), out(n);
    if (kValueBytes != 0) std::memcpy(static_cast<void*>(values.data()), rows.values.data(), n * kValueBytes);
    const OnGpu<Value> gpu_values(values), gpu_out(out);
    const OnGpu<std::uint8_t> gpu_ops(rows.ops);
    const OnGpu<Status> gpu_statuses(rows.statuses);
    const KernelRows<Key, Value> given{gpu_keys.get(), gpu_values.get(),   gpu_ops.get(),
                                       gpu_out.get(),  gpu_statuses.get(), n};
    Session session = gpu.table->table().session(stream.stream, n);
    session.visit<Key, Value>(
        [&](auto table) { carry_out<<<blocks, 64, 0, stream.stream>>>(table, given, how, element); });
    session.commit(stream.stream);
    EXPECT_FALSE(session.is_open());
    stream.wait();
    gpu_out.copy_to(out.data());
    gpu_statuses.copy_to(rows.statuses.data());
    if (kValueBytes != 0) std::memcpy(rows.out.data(), static_cast<const void*>(out.data()), n * kValueBytes);
    compare(rows, how, element, step);
  }

  void compare(const Rows& rows, Combine how, Element element, std::uint64_t step) {
    for (std::size_t i = 0; i < rows.keys.size(); ++i) {
      const Op op = static_cast<Op>(rows.ops[i]);
      const Expected expected = gpu.oracle.apply(op, rows.keys[i], rows.value(i), {how, element}, {}, step);
      ASSERT_EQ(rows.statuses[i], expected.status) << "row " << i << " op " << int(op) << " key " << rows.keys[i];
      if (!expected.out) continue;
      ASSERT_EQ(rows.read(i), *expected.out) << "row " << i << " key " << rows.keys[i];
    }
  }

  GpuTable gpu;
  TestStream stream;

 private:
  static Shape with_sizes(Shape shape) {
    shape.key_bytes = sizeof(Key);
    shape.value_bytes = kValueBytes;
    return shape;
  }
};

/// Sessions and batches in turns; the table grows where a session begins.
template <class Key, class Value>
void rounds_against_the_oracle(const Shape& shape, std::size_t n = 300) {
  SessionRounds<Key, Value> rounds(shape, 16);
  for (const unsigned blocks : {1u, 3u, 7u, 20u}) {
    rounds.round(n, n / 2, blocks);
    if (testing::Test::HasFatalFailure()) return;
    rounds.gpu.round(n, n, true, Op::find);
    rounds.gpu.table->load_cache();  // where there is one
    for (int i = 0; i < 3; ++i) rounds.gpu.round(n, n, false, Op::find);
    rounds.gpu.verify();
    if (testing::Test::HasFatalFailure()) return;
  }
  rounds.gpu.reopen("cpu");
  rounds.gpu.verify();
}

TEST(GpuSession, SmallWordsAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  rounds_against_the_oracle<std::uint64_t, std::uint64_t>({});
}
TEST(GpuSession, SmallValuesInCellsAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  rounds_against_the_oracle<std::uint64_t, Words<8>>({});
}
TEST(GpuSession, SmallPoolWithoutCopiesAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  Shape shape;
  shape.gpu_memory = 0;
  rounds_against_the_oracle<std::uint64_t, Words<8>>(shape);
}
TEST(GpuSession, SmallCopiesOfSomeBucketsAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  Shape shape;
  shape.cache.bucket_ratio = 0.3;
  rounds_against_the_oracle<std::uint64_t, std::uint64_t>(shape);
  rounds_against_the_oracle<Words<2>, Words<8>>(shape);
}
TEST(GpuSession, SmallWideKeysAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  rounds_against_the_oracle<Words<2>, Words<8>>({});
}
TEST(GpuSession, SmallSetAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  rounds_against_the_oracle<std::uint64_t, Nothing>({});
}
TEST(GpuSession, OtherConfigurationsAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  Shape shape;
  shape.levels = 4;
  shape.slots = 4;
  rounds_against_the_oracle<std::uint64_t, Twelve>(shape);
  shape.levels = 1;
  shape.hashes = 4;
  shape.slots = 8;
  rounds_against_the_oracle<std::uint64_t, Twelve>(shape);
}
TEST(GpuSession, CopiesOfValuesAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  for (const double part : {0.3, 1.0}) {
    for (const double buckets : {0.3, 1.0}) {
      Shape shape;
      shape.cache.ratio = part;
      shape.cache.bucket_ratio = buckets;
      rounds_against_the_oracle<std::uint64_t, Words<8>>(shape);
    }
  }
}
TEST(GpuSession, ManyRowsAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  rounds_against_the_oracle<std::uint64_t, std::uint64_t>({}, 20000);
  rounds_against_the_oracle<Words<2>, Words<8>>({}, 20000);
}

template <class Key, class Value>
void sessions_set_scores(Score score, double value_cache) {
  Shape shape;
  shape.score = score;
  shape.cache.ratio = value_cache;
  SessionRounds<Key, Value> rounds(shape, 16);
  for (const unsigned blocks : {1u, 7u, 20u}) {
    const std::uint64_t step = rounds.gpu.random();
    if (score == Score::step) rounds.gpu.set_step(step);
    rounds.round(300, 150, blocks, step);
    if (testing::Test::HasFatalFailure()) return;
    rounds.gpu.verify();
    if (testing::Test::HasFatalFailure()) return;
  }
  rounds.gpu.verify();
}

/// Values that would lie in slots lie in cells then.
TEST(GpuSession, SmallTablesWithScoresAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  for (const Score score : {Score::step, Score::frequency}) {
    sessions_set_scores<std::uint64_t, std::uint64_t>(score, 0);
    sessions_set_scores<std::uint64_t, Nothing>(score, 0);
    sessions_set_scores<Words<2>, Words<8>>(score, 0);
    sessions_set_scores<std::uint64_t, Words<8>>(score, 1);
  }
}

/// Every warp adds `one` to every key, beginning at different ones; and inserts the key a thousand further.
template <class Ref, class Value>
__global__ void add_to_all(Ref table, unsigned keys, Value one, unsigned* inserted) {
  const auto warp = this_warp();
  const unsigned number = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  for (unsigned i = 0; i < keys; ++i) {
    const std::uint64_t key = (number + i) % keys;
    const Status sum = table.accumulate(warp, key, one, Combine::add, Element::u32);
    const Status added = table.insert(warp, key + 1000, one);
    const bool right =
        (sum == Status::updated || sum == Status::inserted) && (added == Status::inserted || added == Status::exists);
    if (warp.thread_rank() != 0) continue;
    atomicAdd(inserted, (sum == Status::inserted) + (added == Status::inserted) + (right ? 0 : 1000000));
  }
}

template <class Value>
void all_warps_on_the_same_keys(Value one) {
  const PoolPath path;
  Table table = Table::create(path.str(), options_for(sizeof(Value), 1000));
  const TestStream stream;
  constexpr unsigned kKeys = 7, kBlocks = 8, kWarps = 4 * kBlocks;
  const OnGpu<unsigned> inserted(std::vector<unsigned>{0});
  Session session = table.session(stream.stream, 2 * kKeys * kWarps);
  add_to_all<<<kBlocks, 128, 0, stream.stream>>>(session.ref<std::uint64_t, Value>(), kKeys, one, inserted.get());
  session.commit(stream.stream);
  stream.wait();
  unsigned count = 0;
  inserted.copy_to(&count);
  EXPECT_EQ(count, 2 * kKeys);
  EXPECT_EQ(table.size(), 2 * kKeys);
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    Value sum{};
    bool found = false;
    table.find(&key, &sum, 1, &found);
    EXPECT_TRUE(found);
    std::uint32_t first = 0;
    std::memcpy(&first, &sum, sizeof first);
    EXPECT_EQ(first, kWarps) << key;
  }
  expect_in_order(table);
}

TEST(GpuSession, SmallWarpsShareKeys) {
  HOLDFAST_NEEDS_GPU();
  all_warps_on_the_same_keys<std::uint32_t>(1);
  all_warps_on_the_same_keys<std::array<std::uint32_t, 16>>({1});
}

}  // namespace
}  // namespace holdfast::test
