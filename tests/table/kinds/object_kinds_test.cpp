// object_kinds_test.cpp: a kind of object that no file outside this one knows takes part in all that a pool does with objects.
#include <gtest/gtest.h>

#include <cstring>

#include "../../pool/pool_test.hpp"
#include "holdfast/checkpoint.hpp"
#include "holdfast/table.hpp"
#include "pool/kinds/kind.hpp"
#include "table/pool_impl.hpp"

namespace holdfast::test {
namespace {

using pool::expect_error;

constexpr std::uint32_t kCounterType = 1000;
constexpr std::uint64_t kCounterMask = 0xffff'ffff'ffff;

/// A number, and the same with all bits flipped behind it, behind the object's pages.
class CounterObject : public pool::Object {
 public:
  static std::shared_ptr<CounterObject> create(pool::Edit& edit, std::shared_ptr<pool::PoolFile> pool,
                                               const std::string& name, const std::string& label) {
    const std::uint32_t number = edit.create({.name = name, .type = kCounterType});
    std::shared_ptr<CounterObject> made(new CounterObject(std::move(pool), number, label));
    made->make_pages(edit, 3 * pool::kPage, {});
    made->set(0);
    return made;
  }
  static std::shared_ptr<CounterObject> open(std::shared_ptr<pool::PoolFile> pool, const pool::ObjectEntry& entry,
                                             const pool::ObjectKind& kind, const std::string& label) {
    pool::require_kind(entry, kind, label);
    std::shared_ptr<CounterObject> made(new CounterObject(std::move(pool), entry.number, label));
    made->map_pages();
    made->accept(true, false);
    return made;
  }
  std::uint64_t value() const { return words()[0]; }
  void set(std::uint64_t value) {
    mark_changed();
    words()[0] = value;
    words()[1] = ~value;
  }
  CheckReport check() const {
    CheckReport report;
    report.was_clean = was_clean();
    report.items = 1;
    report.checked.push_back("the number");
    if (words()[1] != ~words()[0]) report.errors.push_back("the number is damaged");
    return report;
  }
  const std::byte* address_of(const pool::Extent& extent) const override {
    return extent.role == pool::kPagesRole ? pages().address : nullptr;
  }

 private:
  CounterObject(std::shared_ptr<pool::PoolFile> pool, std::uint32_t number, const std::string& label)
      : Object(std::move(pool), number, label, false) {}
  std::uint64_t* words() const { return reinterpret_cast<std::uint64_t*>(behind_pages()); }
};

class CounterKind final : public pool::ObjectKind {
 public:
  CounterKind() : ObjectKind(kCounterType, 1, "counter") {}
  void describe(const pool::Directory&, const pool::ObjectEntry&, const pool::ObjectPage& page,
                ObjectInfo& info) const override {
    if (page.header_bytes != 0) info.damage = "it has a header";
  }
  CheckReport check(const std::shared_ptr<pool::PoolFile>& pool, const pool::ObjectEntry& entry,
                    const std::string& label) const override {
    return CounterObject::open(pool, entry, *this, label)->check();
  }
};

const CounterKind& counter_kind() {
  static const CounterKind* const kind = [] {
    const auto* const made = new CounterKind;
    pool::register_kind(*made);
    return made;
  }();
  return *kind;
}

class Counter : public pool::OpenObject {
 public:
  explicit Counter(std::shared_ptr<CounterObject> object)
      : OpenObject(object->number(), object->path()), object_(std::move(object)) {}
  ~Counter() override { close(); }

  static std::shared_ptr<Counter> create(Pool& pool, const std::string& name, bool overwrite = false) {
    const auto make = [&](pool::Edit& edit, const std::shared_ptr<pool::PoolFile>& file, const std::string& label) {
      return std::make_shared<Counter>(CounterObject::create(edit, file, name, label));
    };
    return PoolAccess::create<Counter>(pool, counter_kind(), name, overwrite, make);
  }
  static std::shared_ptr<Counter> open(Pool& pool, const std::string& name) {
    const auto reopen = [](const std::shared_ptr<pool::PoolFile>& file, const pool::ObjectEntry& entry,
                           const std::string& label) {
      return std::make_shared<Counter>(CounterObject::open(file, entry, counter_kind(), label));
    };
    return PoolAccess::open<Counter>(pool, name, reopen);
  }

  CounterObject& object() { return *object_; }
  bool is_open() const override { return object_ != nullptr; }
  void close() override {
    if (!object_) return;
    if (!object_->read_only()) object_->sync();
    object_.reset();
  }
  CheckReport check() override { return object_->check(); }
  std::unique_ptr<pool::Quiesced> quiesce(const SnapshotOptions&) override {
    auto still = std::make_unique<pool::Quiesced>();
    still->object = object_.get();
    still->items = 1;
    return still;
  }

 private:
  std::shared_ptr<CounterObject> object_;
};

struct ObjectKinds : ::testing::Test {
  pool::Folder folder{"/dev/shm"};
  const std::string path = folder / "a.hold", copy = folder / "b.hold";
  void SetUp() override { counter_kind(); }

  static CreateOptions on_cpu() {
    CreateOptions options;
    options.runtime.device = "cpu";
    return options;
  }
};

TEST_F(ObjectKinds, ANewKindIsListedCheckedRenamedReplacedAndDropped) {
  Pool pool = Pool::create(path);
  const auto counter = Counter::create(pool, "hits");
  counter->object().set(7);
  EXPECT_EQ(pool.objects().at(0).type, "counter");
  EXPECT_EQ(pool.objects().at(0).damage, "");
  expect_error<ObjectInUse>([&] { Counter::open(pool, "hits"); }, "opens once at a time");
  expect_error<ObjectInUse>([&] { pool.drop("hits"); }, "close it first");
  EXPECT_EQ(pool.check("hits").checked, std::vector<std::string>{"the number"});
  pool.rename("hits", "visits");
  counter->close();
  EXPECT_TRUE(pool.check("visits").errors.empty());
  EXPECT_TRUE(pool.objects().at(0).clean);
  Counter::create(pool, "visits", true)->object().set(9);
  EXPECT_EQ(Counter::open(pool, "visits")->object().value(), 9u);
  pool.create_table("t", on_cpu());
  const CheckReport all = pool.check();
  EXPECT_EQ(all.checked.size(), 2u);
  EXPECT_EQ(all.checked.at(0), path + ":visits: the number");
  EXPECT_EQ(all.checked.at(1), path + ":t: every slot and cell");
  pool.drop("visits");
  expect_error<ObjectNotFound>([&] { Counter::open(pool, "visits"); }, "the object t");
}

TEST_F(ObjectKinds, ANewKindIsCopiedAsItIsWhileItIsOpen) {
  Pool pool = Pool::create(path);
  const auto counter = Counter::create(pool, "hits");
  Counter::create(pool, "closed")->object().set(3);
  counter->object().set(7);
  EXPECT_EQ(pool.snapshot(copy).items, 1u);
  counter->object().set(8);
  Pool there = Pool::open(copy);
  EXPECT_TRUE(there.objects().at(0).clean);
  EXPECT_EQ(Counter::open(there, "hits")->object().value(), 7u);
  EXPECT_EQ(Counter::open(there, "closed")->object().value(), 3u);
}

TEST_F(ObjectKinds, CheckReportsTheDamageOfANewKind) {
  Pool::create(path).close();
  std::uint64_t offset = 0;
  {
    Pool pool = Pool::open(path);
    Counter::create(pool, "hits");
    Counter::create(pool, "others");
    offset = pool.objects().at(0).extents.at(0).offset + 2 * pool::kPage;
  }
  auto bytes = pool::read_all(path);
  bytes[offset] ^= 1;
  pool::write_all(path, bytes);
  const CheckReport report = check(path, false);
  EXPECT_EQ(report.errors, std::vector<std::string>{path + ":hits: the number is damaged"});
  EXPECT_TRUE(check(path, false, "others").errors.empty());
}

TEST_F(ObjectKinds, OneKindIsRefusedAsAnother) {
  Pool pool = Pool::create(path);
  Counter::create(pool, "hits");
  pool.create_table("t", on_cpu());
  expect_error<PoolMismatch>([&] { pool.table("hits"); }, "hits is a counter, not a table");
  expect_error<PoolMismatch>([&] { Counter::open(pool, "t"); }, "t is a table, not a counter");
  expect_error<PoolMismatch>([&] { Checkpoint::open(pool, "t"); }, "t is a table, not a checkpoint");
}

TEST_F(ObjectKinds, AKindIsRegisteredOnce) {
  struct Other final : pool::ObjectKind {
    Other(std::uint32_t its_type, const char* its_name) : ObjectKind(its_type, 1, its_name) {}
    void describe(const pool::Directory&, const pool::ObjectEntry&, const pool::ObjectPage&,
                  ObjectInfo&) const override {}
    CheckReport check(const std::shared_ptr<pool::PoolFile>&, const pool::ObjectEntry&,
                      const std::string&) const override {
      return {};
    }
  };
  const Other same_type(kCounterType, "other"), same_name(kCounterType + 1, "table");
  expect_error<InvalidArgument>([&] { pool::register_kind(counter_kind()); }, "\"counter\" cannot be registered");
  expect_error<InvalidArgument>([&] { pool::register_kind(same_type); },
                                "its type 1000 is that of the kind \"counter\"");
  expect_error<InvalidArgument>([&] { pool::register_kind(same_name); }, "its name is that of the kind \"table\"");
  EXPECT_EQ(pool::find_kind(kCounterType + 1), nullptr);
}

}  // namespace
}  // namespace holdfast::test
