// marks_test.cpp: each changing call of each kind of object durably clears the clean mark before its first change, and is refused with
// ReadOnly, without a change, where the object is open for reading; a call that changes nothing leaves the mark.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <tuple>

#include "mark_calls.hpp"
#include "mark_watch.hpp"
#include "support/folder.hpp"
#include "support/image.hpp"

namespace holdfast::proof {
namespace {

/// Where two contents of a file differ first; empty: nowhere.
std::string file_difference(const std::string& before, const std::string& after) {
  if (before == after) return {};
  const auto at = std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first - before.begin();
  return "byte " + std::to_string(at) + ", in page " + std::to_string(at / 4096) + "; " +
         std::to_string(before.size()) + " bytes before, " + std::to_string(after.size()) + " after";
}

class MarkTest : public testing::Test {
 protected:
  void make(const MarkKind& kind) const {
    Pool pool = Pool::create(scene.path());
    for (const char* const name : {"old", "other"}) {
      pool.create_table(name, {.shape = {.capacity = 8}, .runtime = {.device = "cpu"}});
    }
    kind.make(pool);
  }
  /// The objects that change, as they are listed.
  std::vector<ObjectInfo> listed(const MarkKind& kind) const {
    std::vector<ObjectInfo> all = inspect(scene.path()).objects;
    std::erase_if(all, [&](const ObjectInfo& object) {
      return std::find(kind.objects.begin(), kind.objects.end(), object.name) == kind.objects.end();
    });
    return all;
  }
  bool all_are(const MarkKind& kind, bool clean) const {
    const std::vector<ObjectInfo> all = listed(kind);
    return std::all_of(all.begin(), all.end(), [=](const ObjectInfo& object) { return object.clean == clean; });
  }

  const test::Folder folder;
  MarkScene scene{.folder = folder.path()};
};

class Marks : public MarkTest, public testing::WithParamInterface<std::tuple<MarkKind, bool>> {
 protected:
  const MarkKind& kind() const { return std::get<0>(GetParam()); }
  bool on_disk() const { return std::get<1>(GetParam()); }

  /// Where the objects' data lies, which growth changes.
  static std::vector<std::pair<std::uint64_t, std::uint64_t>> extents_of(const std::vector<ObjectInfo>& objects) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (const ObjectInfo& object : objects) {
      for (const ExtentInfo& extent : object.extents) places.emplace_back(extent.offset, extent.bytes);
    }
    return places;
  }

  /// The call's moments, of which the first is before it.
  std::string watch(Recorder& recorder, const MarkCall& call) {
    const std::vector<ObjectInfo> objects = listed(kind());
    const Recorder::Kept before = recorder.now();
    const std::size_t begin = recorder.kept().size();
    call.act(scene);
    std::vector<Recorder::Kept> moments(recorder.kept().begin() + static_cast<std::ptrdiff_t>(begin),
                                        recorder.kept().end());
    moments.push_back(recorder.now());
    const std::string wrong = changed_under_mark(objects, before, moments, on_disk());
    const bool changes =
        extents_of(objects) != extents_of(listed(kind())) || data_changed(objects, before, moments.back());
    return wrong.empty() && !changes ? "it changes nothing" : wrong;
  }
};

std::string mark_name(const testing::TestParamInfo<std::tuple<MarkKind, bool>>& info) {
  return std::get<0>(info.param).name + (std::get<1>(info.param) ? "_file" : "_shm");
}
INSTANTIATE_TEST_SUITE_P(System, Marks, testing::Combine(testing::ValuesIn(mark_kinds()), testing::Bool()), mark_name);

TEST_P(Marks, AreClearedBeforeTheFirstChange) {
  make(kind());
  Recorder recorder(scene.folder, {.on_disk = on_disk()});
  const Watch watching(recorder);
  scene.pool = Pool::open(scene.path());
  kind().open(scene);
  for (const MarkCall& call : kind().changes) {
    SCOPED_TRACE(call.name);
    kind().sync(scene);
    EXPECT_TRUE(all_are(kind(), true));
    EXPECT_EQ(watch(recorder, call), "");
    EXPECT_TRUE(all_are(kind(), false));
  }
  scene.close();
  EXPECT_TRUE(all_are(kind(), true));
}

TEST_P(Marks, StayWhereNothingChanges) {
  make(kind());
  Pretender pretender({.on_disk = on_disk()});
  const Watch watching(pretender);
  scene.pool = Pool::open(scene.path());
  kind().open(scene);
  kind().sync(scene);
  const auto expect_unchanged = [&](const std::vector<MarkCall>& calls) {
    const std::string before = test::read_file(scene.path());  // with a note of who has it open since when
    for (const MarkCall& call : calls) {
      SCOPED_TRACE(call.name);
      call.act(scene);
      EXPECT_TRUE(all_are(kind(), true));
      EXPECT_EQ(file_difference(before, test::read_file(scene.path())), "");
    }
  };
  expect_unchanged(kind().reads);
  scene.close();
  scene.pool = Pool::open(scene.path());  // a region that is open is in no snapshot
  expect_unchanged(pool_reads());
}

class ReadOnlyObjects : public MarkTest, public testing::WithParamInterface<MarkKind> {
 protected:
  void expect_refused(const std::vector<MarkCall>& calls) {
    const std::string before = test::read_file(scene.path());
    for (const MarkCall& call : calls) {
      SCOPED_TRACE(call.name);
      EXPECT_THROW(call.act(scene), ReadOnly);
      EXPECT_EQ(file_difference(before, test::read_file(scene.path())), "");
    }
  }
};
std::vector<MarkKind> table_kinds() {
  std::vector<MarkKind> kinds = mark_kinds();
  std::erase_if(kinds, [](const MarkKind& kind) { return kind.objects != std::vector<std::string>{"t"}; });
  return kinds;
}
std::vector<MarkKind> all_kinds() {
  std::vector<MarkKind> kinds = mark_kinds();
  kinds.push_back(checkpoint_kind());
  return kinds;
}
INSTANTIATE_TEST_SUITE_P(System, ReadOnlyObjects, testing::ValuesIn(all_kinds()),
                         [](const auto& info) { return info.param.name; });

/// With `salvage` objects are recovered in private copies: what else were written there would be nowhere.
TEST_P(ReadOnlyObjects, RefuseEveryChange) {
  make(GetParam());
  for (const bool salvage : {false, true}) {
    SCOPED_TRACE(salvage);
    scene.pool = Pool::open(scene.path(), {.read_only = true, .salvage = salvage});
    GetParam().open(scene);
    expect_refused(GetParam().changes);
    for (const MarkCall& call : GetParam().reads) {
      SCOPED_TRACE(call.name);
      if (method_of(GetParam().type, call) != "Transaction::recover") call.act(scene);
    }
    expect_refused(pool_changes());
    const std::string before = test::read_file(scene.path());
    scene.close();
    scene.pool = Pool::open(scene.path(), {.read_only = true, .salvage = salvage});
    for (const MarkCall& call : pool_reads()) {
      SCOPED_TRACE(call.name);
      if (method_of("Pool", call) == "Pool::table") continue;  // to write: it is refused
      call.act(scene);
    }
    scene.close();
    EXPECT_EQ(file_difference(before, test::read_file(scene.path())), "");
  }
}

/// A table alone may be open for reading, in a pool that is open for writing.
class ReadOnlyTables : public ReadOnlyObjects {};
INSTANTIATE_TEST_SUITE_P(System, ReadOnlyTables, testing::ValuesIn(table_kinds()),
                         [](const auto& info) { return info.param.name; });
TEST_P(ReadOnlyTables, OfAWritablePoolRefuseEveryChange) {
  make(GetParam());
  scene.pool = Pool::open(scene.path());
  scene.table = scene.pool->table("t", {.runtime = {.device = "cpu", .threads = 1}, .read_only = true});
  expect_refused(GetParam().changes);
  scene.table->sync();
  EXPECT_TRUE(all_are(GetParam(), true));
}

}  // namespace
}  // namespace holdfast::proof
