// race_test.cpp: between two calls of one who opens or makes a pool another process does something; the first must notice.
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/table.hpp"
#include "proof/recorder.hpp"
#include "support/folder.hpp"
#include "system/named_file.hpp"

namespace holdfast::proof {
namespace {

/// Does something once, before the first call of a kind. In this process, but a lock does not know the difference.
class Meanwhile : public system::Observer {
 public:
  Meanwhile(Call call, std::function<void()> act) : call_(call), act_(std::move(act)) {}
  int before(const Event& event) noexcept override {
    const bool unlocks = event.call == Call::flock && (event.flags & LOCK_UN) != 0;
    if (event.call == call_ && !unlocks && !done_) {
      done_ = true;
      act_();
    }
    return 0;
  }
  bool done() const { return done_; }

 private:
  const Call call_;
  const std::function<void()> act_;
  bool done_ = false;
};

class Races : public testing::Test {
 protected:
  void SetUp() override { put(create(false), 0, 10); }

  Table create(bool overwrite) const {
    CreateOptions options;
    options.shape.capacity = 8;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;
    options.overwrite = overwrite;
    return Table::create(path_, options);
  }
  Table open() const {
    OpenOptions options;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;
    return Table::open(path_, options);
  }
  static void put(Table table, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t key = first; key < last; ++key) table.insert_or_assign(&key, &key, 1);
  }
  static void expect_keys(Table& table, std::uint64_t first, std::uint64_t last) {
    EXPECT_EQ(table.size(), last - first);
    for (std::uint64_t key = first; key < last; ++key) {
      bool found = false;
      table.contains(&key, 1, &found);
      EXPECT_TRUE(found) << "key " << key;
    }
    EXPECT_TRUE(table.check().errors.empty());
  }

  const test::Folder folder_;
  const std::string path_ = folder_ / "a.hold";
};

// Planted: the superblock read before the lock; then the opener maps levels that are no more.
TEST_F(Races, AnOpenerReadsTheSuperblockUnderItsLock) {
  Meanwhile other(Call::flock, [this] { put(open(), 10, 500); });
  {
    const Watch watch(other);
    Table table = open();
    expect_keys(table, 0, 500);
    put(std::move(table), 500, 600);
  }
  EXPECT_TRUE(other.done());
  Table table = open();
  expect_keys(table, 0, 600);
}

// Planted: the opened file not compared with its name; then what the opener acknowledges is in a file that nobody finds.
TEST_F(Races, AnOpenerComparesTheFileWithItsName) {
  Meanwhile other(Call::flock, [this] { put(create(true), 100, 120); });
  {
    const Watch watch(other);
    Table table = open();
    expect_keys(table, 100, 120);
    put(std::move(table), 120, 130);
  }
  EXPECT_TRUE(other.done());
  Table table = open();
  expect_keys(table, 100, 130);
}

TEST_F(Races, AnOpenerOfARemovedFileFindsNone) {
  Meanwhile other(Call::flock, [this] { ::unlink(path_.c_str()); });
  const Watch watch(other);
  EXPECT_THROW(open(), PoolNotFound);
}

TEST_F(Races, WhoComesBetweenALookAndTheNameKeepsIt) {
  ::unlink(path_.c_str());
  Meanwhile other(Call::renameat2, [this] { put(create(false), 0, 20); });
  {
    const Watch watch(other);
    EXPECT_THROW(create(false), PoolExists);
  }
  EXPECT_TRUE(other.done());
  Table table = open();
  expect_keys(table, 0, 20);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

// Planted: the target looked at before the temporary name; then the replaced pool, which its creator has locked, is
// taken for a second name of the new one, and the creator cannot tell what it has replaced.
TEST_F(Races, WhoTidiesSparesWhatIsBeingReplaced) {
  class AtTheName : public Meanwhile {
   public:
    AtTheName(const std::string& name, Call call, std::function<void()> act)
        : Meanwhile(call, std::move(act)), name_(name) {}
    int before(const Event& event) noexcept override {
      return event.path != nullptr && event.path == name_ ? Meanwhile::before(event) : 0;
    }

   private:
    const std::string name_;
  };
  std::filesystem::create_hard_link(path_, folder_ / "b.hold");
  for (const Call call : {Call::lstat, Call::open}) {
    const system::File replaced = system::File::open(path_, false);
    ASSERT_EQ(::flock(replaced.fd(), LOCK_EX | LOCK_NB), 0);
    system::TemporaryName name;
    const system::File made = system::make_temporary(path_, name);
    const system::FileFacts facts = replaced.facts();
    AtTheName other(name.path, call, [&] { system::give_name(name.path, path_, &facts); });
    {
      const Watch watch(other);
      system::remove_leftovers(path_);
    }
    EXPECT_TRUE(other.done());
    EXPECT_EQ(std::filesystem::exists(name.path), true);
  }
}

/// Another process has put a pool at the path, and has it open: it goes on acknowledging, and all of that stays.
class Overwriting : public Races {
 protected:
  /// `act` fails, and what the other has acknowledged before and after is there under the name.
  template <class Act>
  void expect_spared(Act act) {
    EXPECT_THROW(act(), Error);
    ASSERT_TRUE(other_) << "the other process did nothing";
    const std::uint64_t key = 4711;
    Status status = Status::not_found;
    other_->insert(&key, &key, 1, &status);
    EXPECT_EQ(status, Status::inserted);
    other_->close();
    Table table = open();
    expect_keys(table, 100, 120, key);
    EXPECT_EQ(files(), files_);
  }
  static void expect_keys(Table& table, std::uint64_t first, std::uint64_t last, std::uint64_t one_more) {
    EXPECT_EQ(table.size(), last - first + 1);
    for (std::uint64_t key = first; key <= last; ++key) {
      const std::uint64_t wanted = key == last ? one_more : key;
      bool found = false;
      table.contains(&wanted, 1, &found);
      EXPECT_TRUE(found) << "key " << wanted;
    }
  }
  /// Makes the pool of the other process, and keeps it open.
  void intrude(bool overwrite) {
    other_.emplace(create(overwrite));
    for (std::uint64_t key = 100; key < 120; ++key) other_->insert(&key, &key, 1);
  }
  void remove_and_intrude() {
    ::unlink(path_.c_str());
    intrude(false);
  }
  std::ptrdiff_t files() const { return std::distance(std::filesystem::directory_iterator(folder_.path()), {}); }

  std::optional<Table> other_;
  std::ptrdiff_t files_ = 1;  ///< that there are at the end
};

TEST_F(Overwriting, ASlowCreationSparesAPoolThatWasMadeMeanwhile) {
  ::unlink(path_.c_str());
  Meanwhile meanwhile(Call::posix_fallocate, [this] { intrude(false); });
  const Watch watch(meanwhile);
  expect_spared([this] { create(true); });
}

TEST_F(Overwriting, ASlowSnapshotSparesAPoolThatWasMadeMeanwhile) {
  const std::string source = folder_ / "source.hold";
  std::filesystem::rename(path_, source);
  files_ = 2;
  OpenOptions options;
  options.runtime.device = "cpu";
  Table table = Table::open(source, options);
  Meanwhile meanwhile(Call::posix_fallocate, [this] { intrude(false); });
  const Watch watch(meanwhile);
  expect_spared([&] { table.snapshot(path_, {.overwrite = true, .threads = 1}); });
}

TEST_F(Overwriting, BetweenTheLookAndTheLock) {
  Meanwhile meanwhile(Call::flock, [this] { intrude(true); });
  const Watch watch(meanwhile);
  expect_spared([this] { create(true); });
}

TEST_F(Overwriting, SparesWhatSomebodyPutThereByHand) {
  Meanwhile meanwhile(Call::posix_fallocate, [this] { remove_and_intrude(); });
  const Watch watch(meanwhile);
  expect_spared([this] { create(true); });
}

/// At the last moment that there is: the names are exchanged, and exchanged again.
TEST_F(Overwriting, SparesWhatCameBetweenTheLastLookAndTheName) {
  Meanwhile meanwhile(Call::renameat2, [this] { remove_and_intrude(); });
  const Watch watch(meanwhile);
  expect_spared([this] { create(true); });
}

/// A file system that knows no exchange.
TEST_F(Overwriting, SparesWhatCameBeforeTheLastLookWhereNamesCannotBeExchanged) {
  class NoExchange : public Meanwhile {
   public:
    using Meanwhile::Meanwhile;
    int before(const Event& event) noexcept override {
      Meanwhile::before(event);
      return event.call == Call::renameat2 ? EINVAL : 0;
    }
  } meanwhile(Call::posix_fallocate, [this] { remove_and_intrude(); });
  const Watch watch(meanwhile);
  expect_spared([this] { create(true); });
}

TEST_F(Overwriting, TakesANameThatCameFree) {
  Meanwhile meanwhile(Call::renameat2, [this] { ::unlink(path_.c_str()); });
  const Watch watch(meanwhile);
  put(create(true), 0, 5);
  EXPECT_TRUE(meanwhile.done());
  Table table = open();
  Races::expect_keys(table, 0, 5);
  EXPECT_EQ(files(), 1);
}

/// Of a device that is not there, a medium without room, a table that cannot be filled.
TEST_F(Overwriting, DeletesNothingIfItCannotWork) {
  CreateOptions options;
  options.overwrite = true;
  options.runtime.device = "cuda:4711";
  EXPECT_THROW(Table::create(path_, options), DeviceError);
  options.runtime.device = "cpu";
  options.shape.capacity = std::uint64_t{1} << 40;
  EXPECT_THROW(Table::create(path_, options), Error);
  options.shape.capacity = 8;
  EXPECT_THROW(Table::create(path_, options, [](Table&) { throw DeviceError("no more room on it"); }), DeviceError);
  Table table = open();
  Races::expect_keys(table, 0, 10);
  EXPECT_EQ(files(), 1);
}

/// Whatever is no pool, nor empty, is not for a pool to replace.
TEST_F(Overwriting, ReplacesPoolsAlone) {
  const std::string file = folder_ / "notes.txt";
  std::ofstream(file) << "mine, and of more than eight bytes";
  const auto text = [&] {
    std::ifstream stream(file);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  Table table = open();
  EXPECT_THROW(table.snapshot(file, {.overwrite = true, .threads = 1}), PoolExists);
  CreateOptions options;
  options.runtime.device = "cpu";
  options.overwrite = true;
  EXPECT_THROW(Table::create(file, options), PoolExists);
  EXPECT_EQ(text(), "mine, and of more than eight bytes");
  std::ofstream(file, std::ios::trunc).close();
  table.snapshot(file, {.overwrite = true, .threads = 1});
  EXPECT_TRUE(check(file).errors.empty());
}

}  // namespace
}  // namespace holdfast::proof
