// dramhit_whole_test.cpp: threads that insert, erase, count and read the same keys, with slots that pass from key to key and
// tables that grow. Values have 8 to 64 bytes, and each that is read must be whole: one version of its key's, in all words.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "core/hash.hpp"
#include "holdfast/memory_table.hpp"
#include "structures/dramhit/lane.hpp"
#include "structures/dramhit/wide_record.hpp"
#include "support/random.hpp"
#include "support/tiles.hpp"
#include "support/whole_values.hpp"

namespace holdfast {
namespace {

using test::Random;
using test::WholeValues;

#if defined(HOLDFAST_SANITIZED)
constexpr unsigned kRounds = 60;
constexpr std::uint64_t kAdds = 20'000;
#else
constexpr unsigned kRounds = 600;
constexpr std::uint64_t kAdds = 100'000;
#endif

struct Load {
  std::uint64_t capacity, keys;
  bool grows;
  std::uint32_t key_bytes, value_bytes;
  const char* name;
  const char* tile = nullptr;  ///< null: the CPU's best
};
void PrintTo(const Load& load, std::ostream* out) { *out << load.name; }

class DramhitThreads : public testing::TestWithParam<Load> {};

TEST_P(DramhitThreads, EveryKeyIsThereOnceOrNot) {
  const Load& load = GetParam();
  MemoryOptions options;
  options.capacity = load.capacity;
  options.grows = load.grows;
  options.key_bytes = load.key_bytes;
  options.value_bytes = load.value_bytes;
  options.threads = 1;
  const test::UseTile tile(load.tile);
  MemoryTable table(options);
  constexpr unsigned kThreads = 4;
  const std::uint64_t words = load.key_bytes / 8;
  const WholeValues whole(load.value_bytes);
  std::vector<std::atomic<int>> there(load.keys);
  std::atomic<std::uint64_t> torn{0};
  const auto work = [&](unsigned t) {
    Random random(t + 1);
    constexpr std::size_t kRows = 256;
    std::vector<std::uint64_t> numbers(kRows), keys(kRows * words);
    std::vector<std::byte> values(kRows * load.value_bytes), out(values);
    std::vector<std::uint8_t> ops(kRows);
    std::vector<Status> statuses(kRows);
    for (unsigned round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < kRows; ++i) {
        numbers[i] = random.below(load.keys);
        keys[i * words] = numbers[i];
        whole.write(numbers[i], random.below(1000), values.data() + i * load.value_bytes);
        constexpr Op kMix[] = {Op::insert,           Op::insert, Op::erase, Op::find,
                               Op::insert_or_assign, Op::erase,  Op::find,  Op::find,
                               Op::find_or_insert,   Op::assign, Op::erase, Op::insert_and_find};
        ops[i] = static_cast<std::uint8_t>(kMix[random.below(std::size(kMix))]);
      }
      Batch batch;
      batch.size = kRows;
      batch.ops = ops.data();
      batch.keys = keys.data();
      batch.values = values.data();
      batch.out = out.data();
      batch.statuses = statuses.data();
      table.run(batch);
      for (std::size_t i = 0; i < kRows; ++i) {
        if (statuses[i] == Status::inserted) ++there[numbers[i]];
        if (statuses[i] == Status::erased) --there[numbers[i]];
        const auto op = static_cast<Op>(ops[i]);
        const bool reads =
            op == Op::find ? statuses[i] == Status::found
                           : (op == Op::find_or_insert || op == Op::insert_and_find) && statuses[i] != Status::no_space;
        if (reads && !whole.is_whole(numbers[i], out.data() + i * load.value_bytes)) ++torn;
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < kThreads; ++t) threads.emplace_back(work, t);
  std::atomic<bool> over{false};
  threads.emplace_back([&] {  // exports, beside growths and erased keys
    std::vector<std::uint64_t> keys(load.keys * words);
    std::vector<std::byte> values(load.keys * load.value_bytes);
    while (!over) {
      std::uint64_t cursor = 0;
      const std::size_t n = table.export_batch(cursor, keys.data(), values.data(), load.keys);
      for (std::size_t i = 0; i < n; ++i) {
        if (!whole.is_whole(keys[i * words], values.data() + i * load.value_bytes)) ++torn;
      }
    }
  });
  work(0);
  for (unsigned t = 0; t + 1 < kThreads; ++t) threads[t].join();
  over = true;
  threads.back().join();

  EXPECT_EQ(torn, 0u) << "values are not whole";
  std::uint64_t items = 0;
  std::vector<std::uint64_t> key(words);
  std::vector<std::byte> value(load.value_bytes);
  for (std::uint64_t number = 0; number < load.keys; ++number) {
    key[0] = number;
    bool found = false;
    table.find(key.data(), value.data(), 1, &found);
    ASSERT_EQ(there[number], found ? 1 : 0) << "key " << number;
    ASSERT_TRUE(!found || whole.is_whole(number, value.data()));
    items += found;
  }
  EXPECT_EQ(table.size(), items);
  std::vector<std::uint64_t> keys(load.keys * words + words);
  std::uint64_t cursor = 0;
  EXPECT_EQ(table.export_batch(cursor, keys.data(), nullptr, load.keys + 1), items) << "a key has two slots";
#if !defined(HOLDFAST_SANITIZED)  // fewer rounds add too few keys
  if (load.grows && load.keys > 10'000) {
    EXPECT_GT(table.stats().work.growths, 0u);
  }
#endif
}

constexpr Load kLoads[] = {{1000, 24, true, 8, 8, "few_keys"},
                           {1000, 24, true, 8, 8, "few_keys_avx2", "avx2"},
                           {1000, 24, true, 8, 8, "few_keys_portable", "portable"},
                           {12'000, 19'000, false, 8, 8, "full_avx2", "avx2"},
                           {1000, 40'000, true, 8, 8, "growing_portable", "portable"},
                           {1000, 40'000, true, 8, 8, "growing"},
                           {12'000, 19'000, false, 8, 8, "full"},
                           {1000, 24, true, 8, 16, "few_keys_of_16"},
                           {1000, 24, true, 8, 20, "few_keys_of_20"},
                           {1000, 24, true, 8, 32, "few_keys_of_32"},
                           {1000, 24, true, 8, 64, "few_keys_of_64"},
                           {1000, 24, true, 64, 64, "few_long_keys_of_64"},
                           {3000, 4600, false, 8, 16, "full_of_16"},
                           {3000, 4600, false, 8, 32, "full_of_32"},
                           {3000, 4600, false, 8, 64, "full_of_64"},
                           {1000, 12'000, true, 24, 8, "records"},
                           {1000, 12'000, true, 8, 16, "growing_of_16"},
                           {1000, 12'000, true, 8, 32, "growing_of_32"},
                           {1000, 12'000, true, 8, 64, "growing_of_64"}};
INSTANTIATE_TEST_SUITE_P(Loads, DramhitThreads, testing::ValuesIn(kLoads),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Growing, DramhitThreads, testing::Values(Load{1000, 100'000, true, 8, 8, "more"}));

class DramhitSums : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, DramhitSums, testing::Values(8, 16, 32, 64), testing::PrintToStringParamName());

TEST_P(DramhitSums, OfAllThreadsArriveWithOrWithoutAnswers) {
  const std::uint32_t bytes = GetParam();
  const std::vector<std::uint64_t> one(bytes / 8, 1);
  for (const bool silent : {false, true}) {
    MemoryTable table({.value_bytes = bytes, .capacity = 1000});
    constexpr std::uint64_t kKeys = 30'000;
    std::atomic<std::uint64_t> torn{0};
    const auto work = [&](unsigned t) {
      MemoryHandle handle = table.handle({.silent = silent});
      Random random(t);
      std::vector<std::uint64_t> ids(64);
      std::vector<std::byte> values(64 * bytes);
      MemoryAnswers space;
      space.ids = ids;
      space.values = values;
      std::uint64_t answers = 0;
      for (std::uint64_t i = 0; i < kAdds; ++i) {
        const std::uint64_t key = random.chance(30) ? random.below(4) : random.below(kKeys);  // some are popular
        while (handle.upsert(&key, one.data(), {}, 1, space) == 0) {
          answers += space.size;
          space.size = 0;
        }
      }
      while (!handle.flush(space)) {
        answers += space.size;
        space.size = 0;
      }
      answers += space.size;
      EXPECT_EQ(answers, silent ? 0 : kAdds);
    };
    std::atomic<bool> over{false};
    std::thread reader([&] {
      std::vector<std::uint64_t> keys{0, 1, 2, 3}, last(4);
      std::vector<std::byte> values(4 * bytes);
      while (!over) {
        table.find(keys.data(), values.data(), 4);
        for (std::size_t i = 0; i < 4; ++i) {
          std::uint64_t sum = 0;
          if (!test::is_whole_sum(values.data() + i * bytes, bytes, sum) || sum < last[i]) ++torn;
          last[i] = sum;
        }
      }
    });
    std::thread other(work, 1);
    work(2);
    other.join();
    over = true;
    reader.join();
    EXPECT_EQ(torn, 0u) << "sums are not whole, or an older one came after a newer one";
    std::uint64_t sum = 0;
    std::vector<std::uint64_t> keys(kKeys);
    std::vector<std::byte> values(kKeys * bytes);
    std::uint64_t cursor = 0;
    const std::size_t items = table.export_batch(cursor, keys.data(), values.data(), kKeys);
    for (std::size_t i = 0; i < items; ++i) {
      std::uint64_t of_key = 0;
      ASSERT_TRUE(test::is_whole_sum(values.data() + i * bytes, bytes, of_key));
      sum += of_key;
    }
    EXPECT_EQ(sum, 2 * kAdds);
    EXPECT_EQ(table.size(), items);
  }
}

// A value that crosses a page: the last word is behind a page that may not be read. The fault that this gives is where a writer
// overtakes the reader, who has read the other words already.
class Overtaken {
 public:
  Overtaken() : engine_(dramhit::engine_for(kFormat)), core_(kFormat, 1000, 1, {}, false, engine_) {
    static_assert(dramhit::record_bytes(kFormat) == 192 && 2 * kPage % 192 == 128,
                  "the value's last word is in a page");
    const dramhit::View& view = *core_.view_now();
    const auto home = [&](std::uint64_t number) {
      return view.geometry.home(hash_words(8, 1, [&](unsigned i) { return i == 0 ? number : 0; }));
    };
    while (home(key_[0]) != kLine) ++key_[0];  // ends: hashes are even
    page_ = view.line(0) + 2 * kPage;
    for (auto& lane : lanes_) lane = engine_.lane(core_, 8);
    write(1);
    running_ = this;
    struct sigaction action = {};
    action.sa_handler = [](int) { running_->overtake(); };
    sigaction(SIGSEGV, &action, &before_);
    mprotect(page_, kPage, PROT_NONE);
  }
  ~Overtaken() {
    mprotect(page_, kPage, PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &before_, nullptr);
  }
  Overtaken(const Overtaken&) = delete;
  Overtaken& operator=(const Overtaken&) = delete;

  bool was_overtaken() const { return version_ == 2; }
  bool is_new(const std::byte* value) const { return whole_.of({key_[0]}, 2) == std::vector(value, value + 64); }

  void find(std::byte* value) {
    dramhit::Results results;
    results.out = value;
    run(0, Op::find, nullptr, results);
  }
  std::size_t items(std::byte* value) {
    std::uint64_t key[8], hash[1];
    return engine_.items_of(*core_.view_now(), kLine, 0, reinterpret_cast<std::byte*>(key), value, hash, 1);
  }

 private:
  static constexpr dramhit::Format kFormat{64, 64, 1};
  static constexpr std::uint64_t kLine = 42;
  static constexpr std::size_t kPage = 4096;

  void run(unsigned lane, Op op, const std::byte* value, dramhit::Results& results) {
    dramhit::Rows rows;
    rows.keys = reinterpret_cast<const std::byte*>(key_);
    rows.values = value;
    rows.end = 1;
    rows.op = op;
    lanes_[lane]->submit(rows, results);
    EXPECT_TRUE(lanes_[lane]->flush(results));
  }
  void write(std::uint64_t version) {
    whole_.write(key_[0], version_ = version, value_);
    dramhit::Results results;
    run(1, Op::insert_or_assign, value_, results);
  }
  void overtake() {
    mprotect(page_, kPage, PROT_READ | PROT_WRITE);
    write(2);
  }

  static inline Overtaken* running_ = nullptr;
  const WholeValues whole_{64};
  const dramhit::Engine& engine_;
  dramhit::Core core_;
  std::unique_ptr<dramhit::Lane> lanes_[2];
  std::uint64_t key_[8] = {}, version_ = 0;
  std::byte value_[64];
  std::byte* page_ = nullptr;
  struct sigaction before_ = {};
};

TEST(DramhitRecords, ASearchThatAWriterOvertakesReadsAgain) {
  Overtaken overtaken;
  std::byte value[64];
  overtaken.find(value);
  EXPECT_TRUE(overtaken.was_overtaken());
  EXPECT_TRUE(overtaken.is_new(value));
}

TEST(DramhitRecords, AnExportThatAWriterOvertakesReadsAgain) {
  Overtaken overtaken;
  std::byte value[64];
  ASSERT_EQ(overtaken.items(value), 1u);
  EXPECT_TRUE(overtaken.was_overtaken());
  EXPECT_TRUE(overtaken.is_new(value));
}

}  // namespace
}  // namespace holdfast
