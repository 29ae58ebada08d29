// scheme_fixture.hpp: each form of linear probing, PFHT and path hashing, and a folder for its pools.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>

#include "../numbered.hpp"
#include "holdfast/structures.hpp"
#include "holdfast/table.hpp"

namespace holdfast::test {

/// A scheme with a log, or without.
struct SchemeForm {
  const char *name, *type;  ///< for tests, and as `info` has it
  bool undo_log;
  HashTable (*create_it)(Pool& pool, const std::string& name, const SchemeTableOptions& options);
  HashTable (*open)(Pool& pool, const std::string& name, const SchemeTableOptions& options);

  HashTable create(Pool& pool, const std::string& its_name, SchemeTableOptions options) const {
    options.undo_log = undo_log;
    return create_it(pool, its_name, options);
  }
};
inline void PrintTo(const SchemeForm& form, std::ostream* out) { *out << form.name; }

template <class Table>
constexpr SchemeForm scheme_form(const char* name, const char* type, bool undo_log) {
  return {name, type, undo_log,
          [](Pool& pool, const std::string& its_name, const SchemeTableOptions& options) -> HashTable {
            return Table::create(pool, its_name, options);
          },
          [](Pool& pool, const std::string& its_name, const SchemeTableOptions& options) -> HashTable {
            return Table::open(pool, its_name, options);
          }};
}
inline constexpr SchemeForm kForms[] = {scheme_form<LinearTable>("linear", "linear table", true),
                                        scheme_form<LinearTable>("linear_plain", "linear table without a log", false),
                                        scheme_form<PfhtTable>("pfht", "PFHT table", true),
                                        scheme_form<PfhtTable>("pfht_plain", "PFHT table without a log", false),
                                        scheme_form<PathTable>("path", "path table", true),
                                        scheme_form<PathTable>("path_plain", "path table without a log", false)};

class SchemeTest : public testing::TestWithParam<SchemeForm> {
 protected:
  void SetUp() override {
    std::string name = "/dev/shm/holdfast-schemes-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    path = folder + "/a.hold";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  bool is(const char* scheme) const { return std::string(GetParam().name).starts_with(scheme); }

  const SchemeForm form = GetParam();
  std::string folder, path;
};
inline const auto kFormName = [](const auto& info) { return std::string(info.param.name); };

}  // namespace holdfast::test
