// two_domains_test.cpp: persistent memory that a CPU and a GPU write in turn: what a GPU writes survives less, and its page says so from
// before the first such store until the next sync. Kills, restarts and power cuts; the GPU is stores that no flush follows.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/log.hpp"
#include "holdfast/region.hpp"
#include "holdfast/table.hpp"
#include "holdfast/transaction.hpp"
#include "log/data_object.hpp"
#include "log/kinds.hpp"
#include "proof/crashes.hpp"
#include "proof/recorder.hpp"
#include "support/image.hpp"
#include "support/pool_bytes.hpp"

#include "../minimum.hpp"
#include "support/folder.hpp"

namespace holdfast::proof {
namespace {

constexpr std::size_t kStride = 1024;  // words of 8 bytes: two pages
constexpr std::size_t kWords = 8;

std::string pool_path(const std::string& folder) { return folder + "/a.hold"; }

/// A region, written as a CPU and as a GPU write it.
struct Writers {
  explicit Writers(const std::string& folder) {
    pool = pool::PoolFile::open(pool_path(folder), pool::Access::read_write);
    object = log::DataObject::open(pool, *pool->directory()->find("r"), kinds::region_kind(), sizeof(log::DataHeader),
                                   {.label = pool_path(folder) + ":r"});
  }
  std::uint64_t& word(std::size_t at) const { return reinterpret_cast<std::uint64_t*>(object->data())[at * kStride]; }
  void by_cpu(std::size_t at, std::uint64_t value) const {
    object->mark_changed();
    word(at) = value;
    object->persist().flush(&word(at), sizeof value);
    object->persist().fence();
  }
  void by_gpu(std::size_t at, std::uint64_t value) const {
    object->mark_changed(true);
    word(at) = value;
  }
  std::shared_ptr<pool::PoolFile> pool;
  std::unique_ptr<log::DataObject> object;
};

void make_region(const std::string& folder) {
  Pool pool = Pool::create(pool_path(folder));
  Region::create(pool, "r", kWords * kStride * 8);
}

/// The machine, of which this is a run; it has persistent memory.
class Machine {
 public:
  Machine() { start(); }
  void restart() {
    ++boot_;
    start();
  }

 private:
  void start() {
    watch_.reset();
    pretender_.emplace(Pretence{.on_disk = true, .boot = boot_, .direct = true});
    watch_.emplace(*pretender_);
  }
  unsigned boot_ = 1;
  std::optional<Pretender> pretender_;
  std::optional<Watch> watch_;
};

class TwoDomains : public testing::Test {
 protected:
  std::string path() const { return pool_path(folder_.path()); }
  ObjectInfo object() const { return inspect(path()).objects.at(0); }
  /// What a GPU that changes the object now leaves of its page when the process is killed.
  void note_gpu(std::string& bytes) const {
    test::edit_page(bytes, 1, [](pool::ObjectPage& page) {
      page.clean = 0;
      page.domain = static_cast<std::uint32_t>(Domain::process);
    });
  }
  const test::Folder folder_;
};

/// Every order of so many of these.
enum Act : char { cpu = 'c', gpu = 'g', sync = 's', kill = 'k', restart = 'r', end };
std::vector<std::string> orders(unsigned length) {
  std::vector<std::string> all{""};
  for (unsigned i = 0; i < length; ++i) {
    std::vector<std::string> longer;
    for (const std::string& order : all) {
      for (const char act : {cpu, gpu, sync, kill, restart}) longer.push_back(order + act);
    }
    all = longer;
  }
  return all;
}

/// After each act the page says what the changes since the last sync survive, and a restart takes what does not survive it.
TEST_F(TwoDomains, EveryOrderOfWritersSyncsKillsAndRestarts) {
  std::string bytes;
  {
    Machine machine;
    make_region(folder_.path());
    bytes = test::read_file(path());
  }
  std::uint64_t refused = 0;
  for (const std::string& order : orders(4)) {
    SCOPED_TRACE(order);
    Machine machine;
    test::write_file(path(), bytes);
    std::optional<Writers> writers;
    writers.emplace(folder_.path());
    Domain noted = Domain::power;
    bool clean = true;
    std::vector<std::uint64_t> words(kWords);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] == cpu || order[i] == gpu) {
        words[i] = i + 1;
        order[i] == cpu ? writers->by_cpu(i, i + 1) : writers->by_gpu(i, i + 1);
        clean = false;
        if (order[i] == gpu) noted = Domain::process;
      } else if (order[i] == sync) {
        writers->object->sync();
        clean = true;
        noted = Domain::power;
      } else {
        const std::string left = test::read_file(path());
        writers.reset();
        test::write_file(path(), left);
        if (order[i] == restart) machine.restart();
        if (order[i] == restart && noted != Domain::power) {
          EXPECT_THROW(writers.emplace(folder_.path()), PowerLost);
          EXPECT_TRUE(
              test::read_file(path()).compare(pool::kFirstExtent, std::string::npos, left, pool::kFirstExtent) == 0);
          ++refused;
          break;
        }
        writers.emplace(folder_.path());
      }
      ASSERT_EQ(object().clean, clean) << i;
      if (!clean) {
        ASSERT_EQ(object().domain, noted) << i;
      }
      ASSERT_EQ(writers->object->noted(), noted) << i;
      for (std::size_t at = 0; at < kWords; ++at) ASSERT_EQ(writers->word(at), words[at]) << i;
    }
  }
  EXPECT_GT(refused, 40u);
}

/// Each step is a word of its own, by one of both, or a sync.
class TwoWriters : public Subject {
 public:
  explicit TwoWriters(std::string steps) : steps_(std::move(steps)) {}
  void prepare(const std::string& folder) override { make_region(folder); }
  void run(const std::string& folder, const std::function<void()>& said) override {
    const Writers writers(folder);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i] == cpu) writers.by_cpu(i % kWords, i + 1);
      if (steps_[i] == gpu) writers.by_gpu(i % kWords, i + 1);
      if (steps_[i] == sync) writers.object->sync();
      said();
    }
  }
  /// Refused where the GPU has written since the last sync, or was about to; else all is there.
  std::string check(const std::string& folder, unsigned steps, Crash crash) override {
    std::vector<std::uint64_t> before(kWords), after;
    bool by_gpu = false, may_be_refused = false;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (i == steps) after = before;
      if (steps_[i] == cpu || steps_[i] == gpu) (i < steps ? before : after)[i % kWords] = i + 1;
      by_gpu = steps_[i] != sync && (by_gpu || steps_[i] == gpu);
      if (i + 1 == steps || i == steps) may_be_refused |= by_gpu;
      if (i == steps) break;
    }
    if (after.empty()) after = before;
    try {
      const Writers writers(folder);
      for (std::size_t at = 0; at < kWords; ++at) {
        const std::uint64_t word = writers.word(at);
        if (word != before[at] && word != after[at]) {
          return "word " + std::to_string(at) + " is " + std::to_string(word) + ", and it opens";
        }
      }
    } catch (const PowerLost&) {
      return crash == Crash::power && may_be_refused ? "" : "refused, and nothing can be lost";
    } catch (const Error& error) {
      return std::string("does not open: ") + error.what();
    }
    return {};
  }
  std::string go_on(const std::string&) override { return {}; }

 private:
  const std::string steps_;
};

TEST_F(TwoDomains, APowerCutTakesNothingFromWhatOpens) {
  TwoWriters subject("cgcsgscgsccg");
  const Counts counts = cut_power_everywhere(subject, folder_.path(), 200, 100, Crash::power);
  for (const std::string& wrong : counts.wrong) ADD_FAILURE() << wrong;
  expect_no_less("power", "dax", "two_writers", counts);
}

/// What is promised to survive a power cut is not refused for what a GPU wrote before.
TEST_F(TwoDomains, ASectionOfDomainPowerIsNotRefusedForWhatWasWrittenBefore) {
  Machine machine;
  make_region(folder_.path());
  std::string bytes = test::read_file(path());
  note_gpu(bytes);
  test::write_file(path(), bytes);
  {
    Pool pool = Pool::open(path());
    Region region = Region::open(pool, "r");
    EXPECT_EQ(region.domain(), Domain::process);
    {
      const Section lower = region.section(Domain::process);
      EXPECT_THROW(region.section(Domain::power), InvalidArgument);
      EXPECT_EQ(object().domain, Domain::process);
    }
    const Section section = region.section(Domain::power);
    EXPECT_EQ(region.domain(), Domain::power);
    section.as<std::uint64_t>()[0] = 7;
    section.persist();
    EXPECT_EQ(object().domain, Domain::power);
    EXPECT_FALSE(object().clean);
    bytes = test::read_file(path());
  }
  test::write_file(path(), bytes);
  machine.restart();
  Pool pool = Pool::open(path());
  EXPECT_EQ(Region::open(pool, "r").as<std::uint64_t>()[0], 7u);
}

TEST_F(TwoDomains, NeitherIsATransactionOfDomainPower) {
  Machine machine;
  {
    Pool pool = Pool::create(path());
    Log::create(pool, "u", {.entry_bytes = 16, .threads = 2});
    Region::create(pool, "r", 64);
  }
  std::string bytes = test::read_file(path());
  for (const std::uint32_t number : {1u, 2u}) {
    test::edit_page(bytes, number, [](pool::ObjectPage& page) {
      page.clean = 0;
      page.domain = static_cast<std::uint32_t>(Domain::process);
    });
  }
  test::write_file(path(), bytes);
  {
    Pool pool = Pool::open(path());
    Region region = Region::open(pool, "r");
    Log log = Log::open(pool, "u");
    Transaction batch(log, region, Domain::power);
    batch.update(0, 8, std::uint64_t{7});
    batch.commit();
    bytes = test::read_file(path());
  }
  test::write_file(path(), bytes);
  machine.restart();
  Pool pool = Pool::open(path());
  Region region = Region::open(pool, "r");
  Log log = Log::open(pool, "u");
  EXPECT_EQ(region.as<std::uint64_t>()[1], 7u);
  EXPECT_FALSE(Transaction::recover(log, region));
}

/// A table that a GPU wrote, and a kill left, is synced when it is recovered: what the CPU then writes survives a power cut.
TEST_F(TwoDomains, ATableIsRaisedToTheDomainOfItsWriter) {
  for (const bool killed_again : {false, true}) {
    Machine machine;
    std::filesystem::remove(path());
    const OpenOptions on_cpu{.runtime = {.device = "cpu", .threads = 1}};
    std::string bytes;
    {
      CreateOptions options{.shape = {.key_bytes = 8, .value_bytes = 16, .capacity = 8}, .runtime = on_cpu.runtime};
      Table table = Table::create(path(), options);
      const std::uint64_t key = 1, value[] = {1, 1};
      table.insert(&key, value, 1);
      bytes = test::read_file(path());
    }
    note_gpu(bytes);
    test::write_file(path(), bytes);
    std::string lost = bytes;
    {
      Table table = Table::open(path(), on_cpu);
      EXPECT_EQ(table.stats().place.domain, Domain::power);
      const std::uint64_t key = 2, value[] = {2, 2};
      table.insert(&key, value, 1);
      EXPECT_EQ(object().domain, Domain::power);
      bytes = test::read_file(path());
    }
    test::write_file(path(), bytes);
    if (killed_again) {
      Table::open(path(), on_cpu).close();
    }
    machine.restart();
    {
      Table table = Table::open(path(), on_cpu);
      EXPECT_EQ(table.size(), 2u);
      EXPECT_TRUE(table.check().errors.empty());
    }
    test::write_file(path(), lost);
    EXPECT_THROW(Table::open(path(), on_cpu), PowerLost);
    OpenOptions salvage = on_cpu;
    salvage.salvage = true;
    EXPECT_EQ(Table::open(path(), salvage).stats().place.domain, Domain::process) << "each restart refuses it";
  }
}

}  // namespace
}  // namespace holdfast::proof
