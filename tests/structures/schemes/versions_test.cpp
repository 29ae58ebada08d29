// versions_test.cpp: a table of another version, or with features that this code does not know, is refused, whatever its scheme; every
// other object of the pool stays usable.
#include <functional>
#include <string>

#include "scheme_fixture.hpp"
#include "support/errors.hpp"
#include "support/image.hpp"
#include "support/pool_bytes.hpp"

namespace holdfast::test {
namespace {

class StructureVersions : public testing::Test {
 protected:
  using Edit = std::function<void(pool::ObjectEntry&)>;
  using Open = std::function<HashTable(Pool&)>;
  /// The error of `open` when `edit` has changed the entry of table `a` in the pool's `whole` bytes.
  template <class E>
  std::string error_with(const std::string& whole, const Edit& edit, const Open& open) const {
    std::string bytes = whole;
    edit_directory(bytes, [&](pool::Directory& directory) {
      for (pool::ObjectEntry& entry : directory.objects) {
        if (entry.title() == "a") edit(entry);
      }
    });
    write_file(path, bytes);
    Pool pool = Pool::open(path);
    EXPECT_EQ(GroupTable::open(pool, "other").find(1), 1u);
    return error_of<E>([&] { open(pool); });
  }
  void expect_refused(const std::string& type, const std::function<HashTable(Pool&)>& create, const Open& open) const {
    {
      Pool pool = Pool::create(path, true);
      create(pool).insert(7, 8);
      GroupTable::create(pool, "other", {.cells = 1}).insert(1, 1);
    }
    const std::string whole = read_file(path);
    const auto says = [&](const std::string& error, const std::string& part) {
      EXPECT_NE(error.find(part), std::string::npos) << type << ": " << error;
      EXPECT_NE(error.find(":a "), std::string::npos) << type << ": " << error;
    };
    const Edit newer = [](auto&entry) { ++entry.type_version; }, none = [](auto&entry) { entry.type_version = 0; };
    const Edit featured = [](auto& entry) { entry.required = 1; };
    says(error_with<PoolVersion>(whole, newer, open), "of version 2");
    says(error_with<PoolVersion>(whole, newer, open), "install a newer");
    says(error_with<PoolVersion>(whole, featured, open), "features 1");
    says(error_with<PoolCorrupt>(whole, none, open), "version 0");
    write_file(path, whole);
    Pool pool = Pool::open(path);
    EXPECT_EQ(open(pool).find(7), 8u) << type;
  }

  const Folder folder;
  const std::string path = folder / "a.hold";
};

TEST_F(StructureVersions, AreRefusedIfTheyAreUnknown) {
  for (const SchemeForm& form : kForms) {
    expect_refused(
        form.type, [&](Pool& pool) { return form.create(pool, "a", {.cells = 1}); },
        [&](Pool& pool) { return form.open(pool, "a", {}); });
  }
}

}  // namespace
}  // namespace holdfast::test
