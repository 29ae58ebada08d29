// recovery_marks_test.cpp: what was not closed is opened for writing alone, and recovered; the clean mark is cleared before recovery changes
// anything; a read-only open changes nothing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "../subjects.hpp"
#include "checkpoint/layout.hpp"
#include "mark_calls.hpp"
#include "mark_watch.hpp"
#include "support/folder.hpp"
#include "support/image.hpp"
#include "support/pool_bytes.hpp"

namespace holdfast::proof {
namespace {

using pool::ObjectPage;

class RecoveryMarks : public testing::TestWithParam<bool> {
 protected:
  bool on_disk() const { return GetParam(); }
  std::string path() const { return folder_ / "a.hold"; }

  void prepare(const std::string& subject) const {
    Pretender pretender({.on_disk = on_disk()});
    const Watch watch(pretender);
    make_subject(subject)->prepare(folder_.path());
  }
  void edit(std::uint32_t object, const std::function<void(ObjectPage&)>& change) const {
    std::string bytes = test::read_file(path());
    test::edit_page(bytes, object, change);
    test::write_file(path(), bytes);
  }
  static OpenOptions on_cpu(bool read_only = false) {
    return {.runtime = {.device = "cpu", .threads = 1}, .read_only = read_only};
  }
  /// Opens one table for reading, which is refused and changes nothing.
  void expect_refused_to_readers() const {
    const std::string before = test::read_file(path());
    EXPECT_THROW(Table::open(path(), on_cpu(true)), ReadOnly);
    EXPECT_TRUE(test::read_file(path()) == before);
    EXPECT_NO_THROW(check(path(), false)) << "in a private copy";
    EXPECT_TRUE(test::read_file(path()) == before);
  }
  /// Runs `act`, which changes data of the objects, and says what it changed while a mark may be set.
  template <class Act>
  std::string watch(const Act& act) const {
    const std::vector<ObjectInfo> objects = inspect(path()).objects;
    Recorder recorder(folder_.path(), {.on_disk = on_disk()});
    const Watch watching(recorder);
    const Recorder::Kept before = recorder.now();
    act();
    std::vector<Recorder::Kept> moments = recorder.kept();
    moments.push_back(recorder.now());
    if (!data_changed(objects, before, moments.back())) return "it changes nothing";
    return changed_under_mark(objects, before, moments, on_disk());
  }

  const test::Folder folder_;
};
INSTANTIATE_TEST_SUITE_P(System, RecoveryMarks, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "file" : "shm"); });

TEST_P(RecoveryMarks, AKilledTableIsRecoveredByAWriterAlone) {
  prepare("open_killed");
  Pretender pretender({.on_disk = on_disk()});
  const Watch watch(pretender);
  expect_refused_to_readers();
  {
    Table table = Table::open(path(), on_cpu());
    EXPECT_FALSE(table.stats().recovery.was_clean);
    EXPECT_FALSE(inspect(path()).objects.at(0).clean) << "opened, and not closed yet";
  }
  EXPECT_TRUE(inspect(path()).objects.at(0).clean);
  EXPECT_NO_THROW(Table::open(path(), on_cpu(true)));
}

TEST_P(RecoveryMarks, ARepairingCheckClosesWhatItRecovers) {
  prepare("open_killed");
  Pretender pretender({.on_disk = on_disk()});
  const Watch watch(pretender);
  EXPECT_TRUE(check(path(), true).errors.empty());
  EXPECT_TRUE(inspect(path()).objects.at(0).clean);
}

/// A table that was closed in the middle of a resize, for want of memory: its recovery changes it, and its mark is set.
TEST_P(RecoveryMarks, AResizeGoesOnWhenTheMarkIsCleared) {
  prepare("open_resizing");
  edit(1, [](ObjectPage& page) { page.clean = 1; });
  ASSERT_TRUE(inspect(path()).objects.at(0).clean);
  const std::string bytes = test::read_file(path());
  expect_refused_to_readers();
  EXPECT_EQ(watch([&] { Table::open(path(), on_cpu()); }), "");
  EXPECT_FALSE(inspect(path()).objects.at(0).table.resizing);
  test::write_file(path(), bytes);
  EXPECT_EQ(watch([&] { check(path(), true); }), "");
  EXPECT_TRUE(inspect(path()).objects.at(0).clean);
}

/// What was changed in domain `power` survives a restart; what is changed from now on does not, and the page says so before.
TEST_P(RecoveryMarks, ALowerDomainIsNotedBeforeTheFirstChange) {
  prepare("change");
  const std::string bytes = test::read_file(path());
  for (const bool same_boot : {true, false}) {
    test::write_file(path(), bytes);
    edit(1, [&](ObjectPage& page) {
      page.clean = 0;
      page.domain = static_cast<std::uint32_t>(Domain::power);
      if (!same_boot) page.boot_id[0] ^= 1;
    });
    Pretender pretender({.on_disk = on_disk()});
    const Watch watch(pretender);
    const Table table = Table::open(path(), on_cpu());
    const ObjectInfo object = inspect(path()).objects.at(0);
    EXPECT_FALSE(object.clean);
    EXPECT_EQ(object.domain, Domain::process);
    EXPECT_TRUE(object.same_boot);
  }
}

/// Leaves a transaction in the middle in a pool; with `clean`, of objects that were closed all the same.
class TransactionMarks : public RecoveryMarks {
 protected:
  void SetUp() override {
    Pool pool = Pool::create(path());
    Region region = Region::create(pool, "r", 9000);
    Log log = Log::create(pool, "u", {.entry_bytes = 16, .capacity = 4, .threads = 2});
    Transaction batch(log, region);
    batch.update(0, 4096, std::uint64_t{7});
    killed_ = test::read_file(path());
    clean_ = killed_;
    for (const std::uint32_t object : {1u, 2u}) {
      test::edit_page(clean_, object, [](ObjectPage& page) { page.clean = 1; });
    }
  }
  /// Those of objects that are open.
  static void expect_read_only(Pool& pool, const std::string& what) {
    Region region = Region::open(pool, "r");
    Log log = Log::open(pool, "u");
    EXPECT_THROW(Transaction::recover(log, region), ReadOnly) << what;
    EXPECT_THROW(Transaction(log, region), Error) << what;
    EXPECT_EQ(region.as<std::uint64_t>()[512], 7u) << what;
    EXPECT_EQ(log.count(0), 1u) << what;
  }
  std::string killed_, clean_;
};
INSTANTIATE_TEST_SUITE_P(System, TransactionMarks, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "file" : "shm"); });

TEST_P(TransactionMarks, AreClearedBeforeItIsUndone) {
  test::write_file(path(), clean_);
  const auto recover = [&] {
    Pool pool = Pool::open(path());
    Region region = Region::open(pool, "r");
    Log log = Log::open(pool, "u");
    EXPECT_TRUE(Transaction::recover(log, region));
    EXPECT_EQ(region.as<std::uint64_t>()[512], 0u);
    for (const ObjectInfo& object : pool.objects()) EXPECT_FALSE(object.clean) << object.name;
  };
  EXPECT_EQ(watch(recover), "");
  for (const ObjectInfo& object : inspect(path()).objects) EXPECT_TRUE(object.clean) << object.name;
}

TEST_P(TransactionMarks, ReadersNeitherOpenNorUndoIt) {
  test::write_file(path(), killed_);
  {
    Pool pool = Pool::open(path(), {.read_only = true});
    EXPECT_THROW(Region::open(pool, "r"), ReadOnly);
    EXPECT_THROW(Log::open(pool, "u"), ReadOnly);
  }
  EXPECT_TRUE(test::read_file(path()) == killed_);
  test::write_file(path(), clean_);
  for (const bool salvage : {false, true}) {
    Pool pool = Pool::open(path(), {.read_only = true, .salvage = salvage});
    expect_read_only(pool, salvage ? "salvaged" : "read");
    pool.close();
    EXPECT_TRUE(test::read_file(path()) == clean_);
  }
}

/// A copy of a checkpoint that was filled, and to which the word never came.
class UnfinishedCopies : public RecoveryMarks {
 protected:
  void SetUp() override {
    {
      Pool pool = Pool::create(path());
      Checkpoint checkpoint = Checkpoint::create(pool, "c", {.copies = 3});
      for (std::uint64_t step = 1; step <= 3; ++step) save(checkpoint, step);
    }
    bytes_ = test::read_file(path());
    const ObjectInfo object = inspect(path()).objects.at(0);
    word_at_ = object.extents.at(0).offset + 2 * kDiskPage;
    newest_at_ = object.extents.at(3).offset;
  }
  static void save(Checkpoint& checkpoint, std::uint64_t step) {
    const TensorView tensors[] = {{"a", ElementType::u64, {}, &step}};
    checkpoint.save(step, tensors).wait();
  }
  void set_word(std::uint64_t sequence, unsigned copy) {
    const std::uint64_t word = checkpoint::word_of(sequence, copy);
    std::memcpy(bytes_.data() + word_at_, &word, sizeof word);
    test::write_file(path(), bytes_);
  }
  std::uint64_t newest_sequence() const {
    checkpoint::CopyHeader header;
    std::memcpy(&header, test::read_file(path()).data() + newest_at_, sizeof header);
    return header.sequence;
  }

  std::string bytes_;
  std::uint64_t word_at_ = 0, newest_at_ = 0;
};
INSTANTIATE_TEST_SUITE_P(System, UnfinishedCopies, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "file" : "shm"); });

TEST_P(UnfinishedCopies, DoNotCountAndAreWithdrawnByWriters) {
  set_word(2, 1);
  Pretender pretender({.on_disk = on_disk()});
  const Watch watch(pretender);
  for (const bool salvage : {false, true}) {
    Pool pool = Pool::open(path(), {.read_only = true, .salvage = salvage});
    const Checkpoint checkpoint = Checkpoint::open(pool, "c");
    EXPECT_EQ(checkpoint.restore().step, 2u);
    EXPECT_TRUE(checkpoint.restore().damage.empty());
    EXPECT_EQ(checkpoint.list().size(), 2u);
  }
  EXPECT_TRUE(test::read_file(path()) == bytes_) << "readers leave it";
  {
    Pool pool = Pool::open(path());
    Checkpoint checkpoint = Checkpoint::open(pool, "c");
    EXPECT_EQ(newest_sequence(), 0u) << "later it would be taken for an older state";
    EXPECT_EQ(checkpoint.restore().step, 2u);
    save(checkpoint, 4);
    save(checkpoint, 5);
    EXPECT_EQ(checkpoint.restore().step, 5u);
    for (const SavedCopy& copy : checkpoint.list()) {
      EXPECT_NE(copy.step, 3u);
      EXPECT_EQ(checkpoint.restore(nullptr, copy.sequence).step, copy.step);
    }
  }
}

/// Their word is zero, as at first: no state counts, whatever is in the copies.
TEST_P(UnfinishedCopies, OfAFirstSaveDoNotCount) {
  std::memset(bytes_.data() + word_at_, 0, 8);
  test::write_file(path(), bytes_);
  Pretender pretender({.on_disk = on_disk()});
  const Watch watch(pretender);
  Pool pool = Pool::open(path());
  Checkpoint checkpoint = Checkpoint::open(pool, "c");
  EXPECT_THROW(checkpoint.restore(), ObjectNotFound);
  EXPECT_TRUE(checkpoint.list().empty());
  save(checkpoint, 9);
  EXPECT_EQ(checkpoint.restore().step, 9u);
  EXPECT_EQ(checkpoint.list().size(), 1u);
}

}  // namespace
}  // namespace holdfast::proof
