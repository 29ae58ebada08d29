// scheme_fixture.hpp: each form of persistent hash table (group hashing; linear probing, PFHT and path hashing with and without a log), and
// a folder for its pools.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "../numbered.hpp"
#include "holdfast/structures.hpp"
#include "holdfast/table.hpp"
#include "support/folder.hpp"

namespace holdfast::test {

struct SchemeForm {
  const char *name, *type, *extent;  ///< for tests; as `info` has it and its extent
  bool is_durable;                   ///< false: a scheme without the log that it needs
  HashTable (*create_it)(Pool& pool, const std::string& name, const SchemeTableOptions& options);
  HashTable (*open)(Pool& pool, const std::string& name, const SchemeTableOptions& options);

  HashTable create(Pool& pool, const std::string& its_name, SchemeTableOptions options) const {
    options.undo_log = is_durable;
    return create_it(pool, its_name, options);
  }
};
inline void PrintTo(const SchemeForm& form, std::ostream* out) { *out << form.name; }

template <class Table>
constexpr SchemeForm scheme_form(const char* name, const char* type, bool undo_log) {
  return {name,
          type,
          "cells",
          undo_log,
          [](Pool& pool, const std::string& its_name, const SchemeTableOptions& options) -> HashTable {
            return Table::create(pool, its_name, options);
          },
          [](Pool& pool, const std::string& its_name, const SchemeTableOptions& options) -> HashTable {
            return Table::open(pool, its_name, options);
          }};
}
template <std::uint32_t kGroupSize>
constexpr SchemeForm group_form(const char* name) {
  return {name,
          "group table",
          "groups",
          true,
          [](Pool& pool, const std::string& its_name, const SchemeTableOptions& options) -> HashTable {
            return GroupTable::create(pool, its_name,
                                      {.item_bytes = options.item_bytes,
                                       .cells = options.cells,
                                       .group_size = kGroupSize,
                                       .seed = options.seed,
                                       .overwrite = options.overwrite,
                                       .flush = options.flush});
          },
          [](Pool& pool, const std::string& its_name, const SchemeTableOptions& options) -> HashTable {
            GroupTable table = GroupTable::open(pool, its_name, {.item_bytes = options.item_bytes});
            EXPECT_EQ(table.group_size(), kGroupSize);
            return table;
          }};
}
inline const std::vector<SchemeForm> kCellForms = {
    scheme_form<LinearTable>("linear", "linear table", true),
    scheme_form<LinearTable>("linear_plain", "linear table without a log", false),
    scheme_form<PfhtTable>("pfht", "PFHT table", true),
    scheme_form<PfhtTable>("pfht_plain", "PFHT table without a log", false),
    scheme_form<PathTable>("path", "path table", true),
    scheme_form<PathTable>("path_plain", "path table without a log", false)};
inline const std::vector<SchemeForm> kGroupForms = {group_form<64>("group"), group_form<128>("group_128"),
                                                    group_form<256>("group_256"), group_form<512>("group_512"),
                                                    group_form<1024>("group_1024")};
/// Those above, with the smallest groups.
inline const std::vector<SchemeForm> kForms = [] {
  std::vector<SchemeForm> forms = kCellForms;
  forms.push_back(kGroupForms.front());
  return forms;
}();

/// A pool in a folder, whose first object tests damage.
struct PoolInFolder {
  /// A table with some items, closed.
  void make(const SchemeForm& form, std::uint32_t item_bytes = 16) const {
    Pool pool = Pool::create(path);
    HashTable table = form.create(pool, "a", {.item_bytes = item_bytes, .cells = 512, .seed = 5});
    for (std::uint64_t i = 0; i < 200; ++i) ASSERT_EQ(table.insert(wide(i).data(), wide(i).data()), Status::inserted);
  }
  /// A word of the object's last extent.
  std::uint64_t word(std::uint64_t number) const {
    std::ifstream file(path, std::ios::binary);
    std::uint64_t value = 0;
    file.seekg(offset(number)).read(reinterpret_cast<char*>(&value), 8);
    return value;
  }
  void put(std::uint64_t number, std::uint64_t value) const {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset(number)).write(reinterpret_cast<const char*>(&value), 8);
  }
  std::vector<std::string> errors() const { return Pool::open(path).check("a").errors; }
  /// What `check` finds when a word has another value; the word gets its value back.
  std::string found_with(std::uint64_t number, std::uint64_t value) const {
    const std::uint64_t before = word(number);
    put(number, value);
    const std::vector<std::string> found = errors();
    put(number, before);
    return found.empty() ? "" : found.front();
  }
  std::streamoff offset(std::uint64_t number) const {
    return static_cast<std::streamoff>(inspect(path).objects.at(0).extents.at(1).offset + number * 8);
  }

  const Folder folder;
  const std::string path = folder / "a.hold";
};

class SchemeTest : public testing::TestWithParam<SchemeForm>, protected PoolInFolder {
 protected:
  HashTable open(Pool& pool, const char* name = "a", std::uint32_t item_bytes = 0) {
    return form.open(pool, name, {.item_bytes = item_bytes});
  }
  bool is(const char* scheme) const { return std::string(form.name).starts_with(scheme); }

  const SchemeForm form = GetParam();
};
inline const auto kFormName = [](const auto& info) { return std::string(info.param.name); };

}  // namespace holdfast::test
