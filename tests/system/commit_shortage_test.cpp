// commit_shortage_test.cpp: every allocation of a pool's commit fails once. The pool and its file have the same directory afterwards,
// in the same area: the next commit begins from the one, and writes to the other.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <string>

#include "pool/edit.hpp"
#include "pool/pool_file.hpp"
#include "shortage.hpp"
#include "support/folder.hpp"

namespace holdfast::pool {
namespace {

class CommitShortages : public testing::Test {
 protected:
  std::shared_ptr<PoolFile> make() const {
    NewPool pool(path(), true);
    pool.publish();
    return pool.pool();
  }
  std::string path() const { return root_ / "a.hold"; }

  Superblock in_file() const {
    Superblock block{};
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path().c_str(), "rb"), &std::fclose);
    if (file == nullptr || std::fread(&block, sizeof block, 1, file.get()) != 1) ADD_FAILURE() << "no superblock";
    return block;
  }

  /// False if a commit needs no more allocations than `at`.
  bool fail(std::int64_t at) const {
    const auto pool = make();
    Edit edit(*pool);
    edit.add(edit.create({.name = "one", .type = 77}), kPagesRole, 0, 2 * kPage);
    bool met = false;
    {
      const proof::Shortage shortage(at);
      try {
        edit.commit();
      } catch (const std::bad_alloc&) {
      }
      met = shortage.met();
    }
    EXPECT_EQ(pool->superblock().generation, in_file().generation) << "allocation " << at;
    EXPECT_EQ(pool->superblock().area, in_file().area) << "allocation " << at;
    EXPECT_EQ(pool->directory()->generation, in_file().generation) << "allocation " << at;
    return met;
  }

 private:
  const test::Folder root_;
};

TEST_F(CommitShortages, LeaveThePoolAndItsFileInAgreement) {
  std::int64_t at = 0;
  while (fail(at) && !HasFailure()) ++at;
  EXPECT_GE(at, 2) << "the directory, and its bytes";
}

}  // namespace
}  // namespace holdfast::pool
