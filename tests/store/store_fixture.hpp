// store_fixture.hpp: a pool for the tests of a store, and strings as its batches take them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "holdfast/store.hpp"
#include "holdfast/strings.hpp"
#include "holdfast/table.hpp"
#include "store/sanitized.hpp"

namespace holdfast {

inline Strings strings(const std::vector<std::string>& of) { return Strings(of); }
inline StoreRows rows_of(const Strings& strings) { return {strings.bytes(), strings.offsets(), strings.size()}; }

class StoreTest : public testing::Test {
 protected:
  Store make(const StoreOptions& options = {}) { return Store::create(pool_, "s", options); }
  void reopen_pool() {
    pool_.close();
    pool_ = Pool::open(path_);
  }

  StoreTest() : pool_(Pool::create(path_, true)) {}
  ~StoreTest() override {
    for (const std::string& path : {path_, copy_}) std::remove(path.c_str());
  }

  const std::string path_ = "/dev/shm/holdfast-store-" + std::to_string(getpid()), copy_ = path_ + ".copy";
  Pool pool_;
};

}  // namespace holdfast
