// pool_kill_test.cpp: a process is killed while it grows, marks and syncs a pool; the pool must open and hold what it said.
#include <csignal>

#include "core/random.hpp"
#include "pool_test.hpp"

namespace holdfast::pool {
namespace {

/// Grows and changes the pool until killed. After each step it says through `say` how many cells it has stamped.
[[noreturn]] void work(const std::string& path, int say, std::uint64_t seed) {
  Random random(seed);
  const auto pool = open(path);
  if (pool->shape().is_resizing == 1) {  // the levels hold nothing here, so they are drained already
    const unsigned bottom = pool->shape().top_level + 1 - pool->shape().levels;
    for (unsigned number = 0; number < bottom; ++number) {
      if (pool->level(number) != nullptr) pool->release_level(number);
    }
  }
  for (;;) {
    pool->mark_changed();
    const std::uint64_t cells = pool->cells();
    for (std::uint64_t cell = 0; cell < cells; ++cell) std::memcpy(pool->heap() + cell * 128, &cell, 8);
    if (write(say, &cells, sizeof cells) != sizeof cells) _exit(1);
    pool->grow_heap(1 + random.below(100));
    if (random.below(3) == 0 && pool->shape().top_level < 14) {
      const unsigned top = pool->shape().top_level;
      pool->add_level(top + 1);
      pool->release_level(top - 1);
    }
    if (random.below(4) == 0) pool->sync();
  }
}

TEST(PoolKill, AKilledPoolOpensAndHoldsWhatItSaid) {
  const Folder folder("/dev/shm");
  const std::string path = folder / "a.hold";
  TableShape shape = small_shape();
  shape.top_level = 1;
  create_closed(path, shape);
  Random random(11);
  std::uint64_t said = 0, interrupted = 0;
  for (int round = 0; round < 60; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) work(path, ends[1], random());
    close(ends[1]);
    random();
    std::uint64_t cells = 0;
    ASSERT_EQ(read(ends[0], &cells, sizeof cells), static_cast<ssize_t>(sizeof cells)) << "it started";
    usleep(static_cast<useconds_t>(random.below(3000)));
    kill(child, SIGKILL);
    do {
      said = std::max(said, cells);
    } while (read(ends[0], &cells, sizeof cells) == static_cast<ssize_t>(sizeof cells));
    close(ends[0]);
    const auto pool = open(path, Access::scratch);
    interrupted += pool->shape().is_resizing;
    ASSERT_GE(pool->cells(), said);
    for (std::uint64_t cell = 0; cell < said; ++cell) {
      std::uint64_t found = 0;
      std::memcpy(&found, pool->heap() + cell * 128, 8);
      ASSERT_EQ(found, cell) << "round " << round;
    }
    const unsigned top = pool->shape().top_level;
    for (std::uint64_t i = 0; i < (std::uint64_t{8} << top); ++i) ASSERT_EQ(pool->level(top)[i].key, 0u);
    waitpid(child, nullptr, 0);
  }
  RecordProperty("resizes_interrupted", static_cast<int>(interrupted));
}

}  // namespace
}  // namespace holdfast::pool
