// store_fixture.hpp: a pool for the tests of a store, and strings as its batches take them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "holdfast/store.hpp"
#include "holdfast/strings.hpp"
#include "holdfast/table.hpp"

namespace holdfast {

inline StoreRows rows_of(const Strings& strings) { return {strings.bytes(), strings.offsets(), strings.size()}; }

#if defined(HOLDFAST_SANITIZED)
inline constexpr bool kSanitized = true;  // where each word of a value costs a hundred times as much
#else
inline constexpr bool kSanitized = false;
#endif

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
