// complete_test.cpp: no public method is missing in the lists of calls: one that is new is put with the changes, with the reads, or here.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "mark_calls.hpp"

namespace holdfast::proof {
namespace {

using Methods = std::set<std::string>;

const std::map<std::string, const char*> kHeaders = {{"Table", "table.hpp"},
                                                     {"Pool", "pool.hpp"},
                                                     {"Region", "region.hpp"},
                                                     {"Section", "region.hpp"},
                                                     {"Log", "log.hpp"},
                                                     {"HashTable", "structures.hpp"},
                                                     {"GroupTable", "structures.hpp"},
                                                     {"LinearTable", "structures.hpp"},
                                                     {"PfhtTable", "structures.hpp"},
                                                     {"PathTable", "structures.hpp"},
                                                     {"Store", "store.hpp"},
                                                     {"StoreReservation", "store_memory.hpp"},
                                                     {"StoreLease", "store_memory.hpp"},
                                                     {"StoreBatch", "store_pipeline.hpp"},
                                                     {"StoreCaller", "store_pipeline.hpp"},
                                                     {"StorePipeline", "store_pipeline.hpp"},
                                                     {"Checkpoint", "checkpoint.hpp"},
                                                     {"Transaction", "transaction.hpp"}};

/// What has no call of its own, and why.
const std::map<std::string, Methods> kNoCall = {
    {"a form of Table::run",
     {"Table::try_run", "Table::insert", "Table::insert_or_assign", "Table::assign", "Table::find", "Table::contains",
      "Table::scores", "Table::erase", "Table::accumulate"}},
    {"opens, and closes: recovery_marks_test.cpp, and each test here",
     {"Table::create",   "Table::open",      "Table::close",      "Table::sync",      "Pool::create",
      "Pool::open",      "Pool::close",      "Region::open",      "Region::close",    "Log::open",
      "Log::close",      "Checkpoint::open", "Checkpoint::close", "GroupTable::open", "LinearTable::open",
      "PfhtTable::open", "PathTable::open",  "HashTable::close",  "HashTable::sync",  "Store::open",
      "Store::close",    "Store::sync"}},
    {"lets time pass, which changes the record once a millisecond: StoreMarks.TimeClearsThem", {"Store::now"}},
    {"a fact of the handle, which it has in memory",
     {"Table::score",       "Table::step",          "Table::slots",
      "Table::load_factor", "Table::key_bytes",     "Table::value_bytes",
      "Table::path",        "Table::is_open",       "Table::on_gpu",
      "Table::description", "Pool::is_open",        "Pool::path",
      "Region::size",       "Region::as",           "Region::domain",
      "Region::is_open",    "Section::domain",      "Section::is_open",
      "Log::places",        "Log::entry_bytes",     "Log::capacity",
      "Log::blocks",        "Log::threads",         "Log::is_conventional",
      "Log::is_open",       "Checkpoint::copies",   "Checkpoint::is_open",
      "HashTable::cells",   "HashTable::key_bytes", "GroupTable::group_size",
      "HashTable::domain",  "HashTable::is_open",   "HashTable::survives_crashes",
      "Store::domain",      "Store::is_open"}},
    {"a part of a call that is listed", {"StoreReservation::size",   "StoreReservation::has",
                                         "StoreReservation::pieces", "StoreReservation::abort",
                                         "StoreLease::size",         "StoreLease::has",
                                         "StoreLease::pieces",       "StoreLease::bytes",
                                         "StoreLease::flags",        "StoreLease::cas",
                                         "StoreLease::release",      "StoreBatch::add",
                                         "StoreBatch::clear",        "StoreBatch::on_done",
                                         "StoreBatch::size",         "StoreBatch::is_done",
                                         "StoreBatch::answer",       "StoreCaller::poll",
                                         "StoreCaller::wait",        "StorePipeline::caller",
                                         "StorePipeline::close",     "StorePipeline::is_open",
                                         "StorePipeline::stats",     "Table::end_export",
                                         "Section::bytes",           "Section::as",
                                         "Section::persist",         "Section::end"}},
    {"changes only the object's page, which has its own checksum: tests/pool/description_test.cpp",
     {"Table::describe"}},
    {"of a GPU: tests/cuda",
     {"Table::session", "Table::load_cache", "Log::handle", "Transaction::handle", "Checkpoint::map_for_gpu"}},
};

std::string text_of(const char* header) {
  std::ifstream file(std::string(HOLDFAST_TEST_DATA) + "/../../include/holdfast/" + header);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return std::regex_replace(text, std::regex("//[^\n]*"), "");
}

/// The statements of a class up to `private:`, without what stands in braces.
std::vector<std::string> statements_in(const std::string& text, const std::string& type) {
  const std::string begin = "class " + type + " ";
  std::size_t at = 0;
  do at = text.find(begin, at == 0 ? 0 : at + 1);
  while (at != std::string::npos && text.find('{', at) > text.find(';', at));
  std::vector<std::string> statements;
  std::string statement;
  int depth = 0;
  for (at = text.find('{', at) + 1; at < text.size() && depth >= 0; ++at) {
    const char c = text[at];
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (depth > 0) continue;
    if (c == ';' || c == '}') {
      statements.push_back(statement);
      statement.clear();
    } else {
      statement += c;
    }
    if (statement.ends_with("private:")) break;
  }
  return statements;
}

Methods methods_of(const std::string& type, const char* header) {
  Methods methods;
  for (const std::string& statement : statements_in(text_of(header), type)) {
    std::smatch found;
    if (statement.find("operator") != std::string::npos || statement.find("using ") != std::string::npos ||
        !std::regex_search(statement, found, std::regex("(\\w+)\\(")))
      continue;
    if (found[1] != type) methods.insert(type + "::" + found[1].str());
  }
  return methods;
}

std::vector<MarkKind> kinds() {
  std::vector<MarkKind> all = mark_kinds();
  all.push_back(checkpoint_kind());
  all.push_back({.name = "pool", .type = "Pool", .changes = pool_changes(), .reads = pool_reads()});
  return all;
}

TEST(MarkCalls, EachPublicMethodHasOne) {
  Methods listed, there;
  for (const MarkKind& kind : kinds()) {
    for (const auto& calls : {kind.changes, kind.reads}) {
      for (const MarkCall& call : calls) listed.insert(method_of(kind.type, call));
    }
  }
  for (const auto& [type, header] : kHeaders) there.merge(methods_of(type, header));
  EXPECT_GT(there.size(), 70u);
  for (const auto& [why, methods] : kNoCall) {
    for (const std::string& method : methods) {
      EXPECT_EQ(there.count(method), 1u) << method << " is not there any more, " << why;
      EXPECT_EQ(listed.count(method), 0u) << method << " has a call, and an excuse: " << why;
      listed.insert(method);
    }
  }
  for (const std::string& method : there) {
    EXPECT_EQ(listed.count(method), 1u) << method << " has no call in tests/system/marks/mark_calls.cpp: add one";
  }
  for (const std::string& method : listed) EXPECT_EQ(there.count(method), 1u) << method << " is not there any more";
}

/// Each operation of a batch, on tables of each kind that takes it.
TEST(MarkCalls, EachOperationHasOne) {
  std::vector<std::string> names;
  const std::string text = text_of("status.hpp");
  const std::size_t begin = text.find("enum class Op "), end = text.find("};", begin);
  const std::string body = text.substr(begin, end - begin);
  const std::regex operation("(\\w+) = \\d");
  for (std::sregex_iterator at(body.begin(), body.end(), operation), last; at != last; ++at) names.push_back((*at)[1]);
  ASSERT_EQ(names.size(), kOps);
  for (const MarkKind& kind : kinds()) {
    if (kind.type != "Table") continue;
    for (unsigned op = 0; op < kOps; ++op) {
      if (kind.name == "pairs" && static_cast<Op>(op) == Op::accumulate) continue;
      const auto& calls = changes(static_cast<Op>(op)) ? kind.changes : kind.reads;
      const auto is_it = [&](const MarkCall& call) { return call.name == "run " + names[op]; };
      EXPECT_TRUE(std::any_of(calls.begin(), calls.end(), is_it)) << kind.name << ": " << names[op];
    }
  }
}

}  // namespace
}  // namespace holdfast::proof
