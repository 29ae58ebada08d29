// session_end_test.cu: sessions that are full, abandoned, closed, waited for, searched beside, or asked for what cannot be.
#include <atomic>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>

#include "cuda/users/sessions.cuh"

namespace holdfast::test {
namespace {

template <class Value>
void no_more_than_reserved() {
  const PoolPath path;
  Table table = Table::create(path.str(), options_for(sizeof(Value), 10000));
  const TestStream stream;
  Session session = table.session(stream.stream, 100);
  auto count = insert_in_session<Value>(session, stream.stream, 0, 500);
  EXPECT_EQ(count[kInserted], 100u);
  EXPECT_EQ(count[kNoSpace], 400u);
  session.commit(stream.stream);
  stream.wait();
  EXPECT_EQ(table.size(), 100u);
  // Where values lie in slots an update needs no room.
  session = table.session(stream.stream, 400);
  count = insert_in_session<Value>(session, stream.stream, 0, 500);
  EXPECT_EQ(count[kInserted] + count[kUpdated], sizeof(Value) > 8 ? 400u : 500u);
  session.commit(stream.stream);
  stream.wait();
  expect_in_order(table);
}

TEST(GpuSession, SmallNoMoreChangesThanReserved) {
  HOLDFAST_NEEDS_GPU();
  no_more_than_reserved<std::uint64_t>();
  no_more_than_reserved<Words<8>>();
}

TEST(GpuSession, SmallNoSpaceWhereTheHeapCannotGrow) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  CreateOptions options = options_for(64, 1000);
  options.shape.max_bytes = (1000 + 1000 / 32 + 64) * 64;  // what the table begins with, and up to a whole page more
  Table table = Table::create(path.str(), options);
  const TestStream stream;
  std::vector<std::uint64_t> keys(4000);
  std::iota(keys.begin(), keys.end(), std::uint64_t{1} << 32);
  const std::vector<Words<8>> values(keys.size());
  EXPECT_GT(table.insert(keys.data(), values.data(), keys.size()).of(Status::no_space), 0u);  // it has grown so far
  table.erase(keys.data(), keys.size());
  const std::uint64_t cells = table.stats().space.cells;
  EXPECT_THROW(static_cast<void>(table.session(stream.stream, 100 * cells)), NoSpace);
  EXPECT_THROW(static_cast<void>(table.session(stream.stream, ~std::uint64_t{0})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(table.session(stream.stream, cells)), NoSpace);  // the reserve is for updates
  const std::uint64_t most = cells - std::max<std::uint64_t>(1, cells / 64);
  Session session = table.session(stream.stream, most);
  EXPECT_EQ(insert_in_session<Words<8>>(session, stream.stream, 0, 2 * cells)[kInserted], most);
  session.commit(stream.stream);
  EXPECT_THROW(static_cast<void>(table.session(stream.stream, most)), NoSpace);
  EXPECT_EQ(table.size(), most);
  expect_in_order(table);
}

TEST(GpuSession, SmallSessionGrowsTheTable) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  Table table = Table::create(path.str(), options_for(64, 100));
  const TestStream stream;
  const OnGpu<Status> statuses(2000);
  for (std::uint64_t first = 0; first < 8000; first += 2000) {  // a session after the other, and nobody waits for them
    Session session = table.session(stream.stream, 2000);
    insert_range<<<4, 128, 0, stream.stream>>>(session.ref<std::uint64_t, Words<8>>(), first, 2000, Words<8>{},
                                               statuses.get());
    session.commit(stream.stream);
  }
  stream.wait();
  EXPECT_EQ(table.size(), 8000u);
  EXPECT_GT(table.stats().growth.resizes, 0u);
  expect_in_order(table);
}

TEST(GpuSession, SmallAbandonedSessionEnds) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  const TestStream stream;
  std::uint64_t free_cells = 0;
  {
    Table table = Table::create(path.str(), options_for(64, 1000));
    free_cells = table.stats().space.free_cells;
    {
      Session session = table.session(stream.stream, 500);
      EXPECT_EQ(insert_in_session<Words<8>>(session, stream.stream, 0, 100)[kInserted], 100u);
    }
    EXPECT_EQ(table.stats().space.free_cells, free_cells - 100);
    { Session unused = table.session(stream.stream, 500); }
    const std::uint64_t key = 5000;
    const Words<8> value{};
    EXPECT_EQ(table.insert(&key, &value, 1).of(Status::inserted), 1u);
    expect_in_order(table);
    Session open = table.session(stream.stream, 500);
    insert_in_session<Words<8>>(open, stream.stream, 100, 100);
    table.close();  // ends it
    EXPECT_FALSE(open.is_open());
    EXPECT_THROW(open.commit(stream.stream), InvalidArgument);
    EXPECT_THROW(static_cast<void>(open.ref()), InvalidArgument);
  }
  Table table = Table::open(path.str());
  EXPECT_EQ(table.size(), 201u);
  EXPECT_EQ(table.stats().space.free_cells, free_cells - 201);
  expect_in_order(table);
}

TEST(GpuSession, SmallSessionOutlivesItsTable) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  const TestStream stream;
  std::optional<Session> session;
  {
    Table table = Table::create(path.str(), options_for(8, 1000));
    session = table.session(stream.stream, 500);
    EXPECT_TRUE(session->is_open());
  }
  EXPECT_FALSE(session->is_open());
  EXPECT_THROW(session->commit(stream.stream), InvalidArgument);
}

TEST(GpuSession, SmallKernelsAfterTheEndDoNothing) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  Table table = Table::create(path.str(), options_for(8, 1000));
  const TestStream stream;
  const OnGpu<Status> statuses(10);
  std::vector<Status> seen(10);
  Session session = table.session(stream.stream, 10);
  const auto late = session.ref();
  session.commit(stream.stream);
  insert_range<<<1, 32, 0, stream.stream>>>(late, 0, 10, std::uint64_t{1}, statuses.get());
  Session next = table.session(stream.stream, 10);  // of another number
  stream.wait();
  statuses.copy_to(seen.data());
  EXPECT_EQ(seen, std::vector<Status>(10, Status::not_run));
  insert_range<<<1, 32, 0, stream.stream>>>(late, 0, 10, std::uint64_t{1}, statuses.get());
  next.commit(stream.stream);
  stream.wait();
  statuses.copy_to(seen.data());
  EXPECT_EQ(seen, std::vector<Status>(10, Status::not_run));
  EXPECT_EQ(table.size(), 0u);
}

TEST(GpuSession, SmallErrors) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path, other("-other");
  const TestStream stream;
  const auto begin = [&](Table& table) { static_cast<void>(table.session(stream.stream, 10)); };
  Table table = Table::create(path.str(), options_for(8, 1000));
  {
    Session session = table.session(stream.stream, 10);
    const std::uint64_t key = 1;
    std::uint64_t cursor = 0, keys[1];
    EXPECT_THROW(begin(table), InvalidArgument);  // this thread would wait for itself
    EXPECT_THROW(table.insert(&key, &key, 1), InvalidArgument);
    const auto find = static_cast<std::uint8_t>(Op::find);
    Batch mixed;
    mixed.size = 1;
    mixed.keys = &key;
    mixed.ops = &find;
    mixed.out = keys;
    EXPECT_THROW(table.run(mixed), InvalidArgument);  // it takes the way of changes, although it only reads
    EXPECT_THROW(table.export_batch(cursor, keys, nullptr, 1), InvalidArgument);
    EXPECT_THROW(table.sync(), InvalidArgument);
    EXPECT_THROW(table.check(), InvalidArgument);
    EXPECT_THROW(table.reserve(1 << 20), InvalidArgument);
    EXPECT_THROW(static_cast<void>(table.snapshot(other.str())), InvalidArgument);
    EXPECT_EQ(table.find(&key, keys, 1).of(Status::not_found), 1u);  // searches go on
    EXPECT_EQ(table.size(), 0u);
    EXPECT_THROW((static_cast<void>(session.ref<std::uint64_t, Words<2>>())), PoolMismatch);
    EXPECT_THROW((static_cast<void>(session.ref<Words<2>, std::uint64_t>())), PoolMismatch);
    Session moved = std::move(session);
    EXPECT_FALSE(session.is_open());  // NOLINT(bugprone-use-after-move)
    EXPECT_THROW(session.commit(stream.stream), InvalidArgument);
    moved.commit(stream.stream);
    EXPECT_THROW(moved.commit(stream.stream), InvalidArgument);
    EXPECT_EQ(table.insert(&key, &key, 1).of(Status::inserted), 1u);
  }
  table.close();
  EXPECT_THROW(begin(table), ObjectClosed);
  CreateOptions options = options_for(8, 1000);
  options.shape.slots = 4;
  Table four = Table::create(other.str(), options);
  Session session = four.session(stream.stream, 10);
  EXPECT_THROW(static_cast<void>(session.ref()), PoolMismatch);
  static_cast<void>(session.ref<std::uint64_t, std::uint64_t, AnyConfiguration>());
  session.commit(stream.stream);
  four.close();
  options.shape.key_bytes = options.shape.value_bytes = kVariableBytes;
  Table pairs = Table::create(other.str(), options);
  EXPECT_THROW(begin(pairs), InvalidArgument);
}

/// Its beginning and its end are the host's; a graph of kernels can be launched in between.
TEST(GpuSession, CapturedStreamsHoldNoSession) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  Table table = Table::create(path.str(), options_for(8, 1000));
  const TestStream stream;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launchable = nullptr;
  const OnGpu<Status> statuses(100);
  Session session = table.session(stream.stream, 100);
  ASSERT_EQ(cudaStreamBeginCapture(stream.stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_THROW(session.commit(stream.stream), InvalidArgument);
  EXPECT_TRUE(session.is_open());
  insert_range<<<4, 128, 0, stream.stream>>>(session.ref(), 0, 100, std::uint64_t{1}, statuses.get());
  ASSERT_EQ(cudaStreamEndCapture(stream.stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&launchable, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(launchable, stream.stream), cudaSuccess);
  session.commit(stream.stream);
  ASSERT_EQ(cudaGraphLaunch(launchable, stream.stream), cudaSuccess);  // too late: it does nothing
  stream.wait();
  EXPECT_EQ(table.size(), 100u);
  ASSERT_EQ(cudaStreamBeginCapture(stream.stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_THROW(static_cast<void>(table.session(stream.stream, 10)), InvalidArgument);
  cudaGraph_t empty = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream.stream, &empty), cudaSuccess);
  expect_in_order(table);  // nobody has its turn
  cudaGraphExecDestroy(launchable);
  cudaGraphDestroy(graph);
  cudaGraphDestroy(empty);
}

/// Adds one to keys [0, n).
template <class Ref>
__global__ void add_one(Ref table, std::uint64_t n) {
  const auto warp = this_warp();
  const unsigned warps = gridDim.x * warp.meta_group_size();
  for (std::uint64_t i = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank(); i < n; i += warps)
    table.accumulate(warp, i, std::uint64_t{1});
}

/// Batches on one stream and sessions on another take turns, and the host waits for none of them.
TEST(GpuSession, SmallTurnsWithBatches) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  constexpr std::uint64_t kKeys = 1000, kRounds = 8;
  Table table = Table::create(path.str(), options_for(8, 20 * kKeys));
  const TestStream batches, sessions;
  std::vector<std::uint64_t> keys(kKeys), values(kKeys);
  std::iota(keys.begin(), keys.end(), std::uint64_t{0});
  const OnGpu<std::uint64_t> gpu_keys(keys), tens(std::vector<std::uint64_t>(kKeys, 10));
  Batch batch;
  batch.size = kKeys;
  batch.op = Op::accumulate;
  batch.keys = gpu_keys.get();
  batch.values = tens.get();
  batch.device = Device{.stream = batches.stream};
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    table.run(batch);
    Session session = table.session(sessions.stream, kKeys);
    add_one<<<8, 128, 0, sessions.stream>>>(session.ref(), kKeys);
    session.commit(sessions.stream);
  }
  batches.wait();
  sessions.wait();
  table.find(keys.data(), values.data(), kKeys);
  EXPECT_EQ(values, std::vector<std::uint64_t>(kKeys, 11 * kRounds));
  expect_in_order(table);
}

/// A change of another thread comes after the session, whenever it was asked for.
TEST(GpuSession, SmallChangesOfOthersWait) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  Table table = Table::create(path.str(), options_for(8, 1000));
  const TestStream stream;
  const std::uint64_t key = 3, value = 99;
  std::atomic<bool> asks{false};
  Status status = Status::not_run;
  Session session = table.session(stream.stream, 100);
  std::thread other([&] {
    asks = true;
    table.insert(&key, &value, 1, &status);
    Session own = table.session(nullptr, 10);
    own.commit(nullptr);
  });
  while (!asks) std::this_thread::yield();
  EXPECT_EQ(insert_in_session<std::uint64_t>(session, stream.stream, 0, 100)[kInserted], 100u);
  std::thread committer([&] { session.commit(stream.stream); });  // not by the thread that began it
  committer.join();
  other.join();
  EXPECT_EQ(status, Status::exists);
  EXPECT_EQ(table.size(), 100u);
  expect_in_order(table);
}

/// Each update writes one number into all words of a value; keys come and go.
template <class Ref>
__global__ void churn(Ref table, std::uint64_t keys, std::uint64_t rounds) {
  const auto warp = this_warp();
  const unsigned warps = gridDim.x * warp.meta_group_size();
  for (std::uint64_t i = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank(); i < keys * rounds; i += warps) {
    const std::uint64_t key = i % keys;
    if (i % 7 == 3) {
      table.erase(warp, key);
      continue;
    }
    Words<16> value;
    for (std::uint64_t& word : value.word) word = i + 1;
    table.insert_or_assign(warp, key, value);
  }
}

TEST(GpuSession, SearchesBesideItSeeWholeValues) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  Table table = Table::create(path.str(), options_for(128, 4000));
  const TestStream stream;
  constexpr std::uint64_t kKeys = 2000;
  std::vector<std::uint64_t> keys(kKeys);
  std::iota(keys.begin(), keys.end(), std::uint64_t{0});
  std::atomic<bool> ended{false};
  std::thread searcher([&] {
    std::vector<Words<16>> values(kKeys);
    const auto found = std::make_unique<bool[]>(kKeys);
    for (bool last = false; !last;) {
      last = ended;  // one more after the end
      table.find(keys.data(), values.data(), kKeys, found.get());
      for (std::uint64_t key = 0; key < kKeys; ++key) {
        for (const std::uint64_t word : values[key].word) {
          ASSERT_EQ(word, values[key].word[0]) << "key " << key;
        }
        ASSERT_EQ(found[key], values[key].word[0] != 0);
        if (found[key]) {
          ASSERT_EQ((values[key].word[0] - 1) % kKeys, key);
        }
      }
    }
  });
  for (int round = 0; round < 20; ++round) {
    Session session = table.session(stream.stream, 3 * kKeys);
    churn<<<8, 256, 0, stream.stream>>>(session.ref<std::uint64_t, Words<16>>(), kKeys, 3);
    session.commit(stream.stream);
  }
  stream.wait();
  ended = true;
  searcher.join();
  expect_in_order(table);
}

}  // namespace
}  // namespace holdfast::test
