// dramhit_guide_test.cpp: the C++ example of docs/memory_table.md, which tests/python/test_docs.py finds here, runs.
#include <gtest/gtest.h>

#include <cstdio>
#include <span>
#include <vector>

#include "holdfast/memory_table.hpp"

namespace {

TEST(DramhitGuide, TheExampleDoesWhatItSays) {
  holdfast::MemoryTable table({.capacity = 1'000'000});
  holdfast::MemoryHandle handle = table.handle();  // each thread has its own

  std::vector<std::uint64_t> keys{7, 8, 9}, values{70, 80, 90}, ids(64), read(64);
  std::vector<holdfast::Status> statuses(64);
  holdfast::MemoryAnswers answers;  // space for 64
  answers.ids = ids;
  answers.values = std::as_writable_bytes(std::span(read));
  answers.statuses = statuses;

  for (std::size_t taken = 0; taken < keys.size();) {
    taken += handle.put(&keys[taken], &values[taken], {}, keys.size() - taken, answers);
    answers.size = 0;  // they have been read: the space is free again
  }
  while (!handle.flush(answers)) answers.size = 0;
  answers.size = 0;

  handle.get(keys.data(), keys, keys.size(), answers);  // keys as numbers
  handle.flush(answers);
  for (std::size_t i = 0; i < answers.size; ++i) {
    if (statuses[i] == holdfast::Status::found) std::printf("%lu: %lu\n", ids[i], read[i]);
  }
  answers.size = 0;

  std::vector<std::uint64_t> some{9, 10}, fresh{91, 100};
  handle.find_or_insert(some.data(), fresh.data(), some, some.size(), answers);
  handle.flush(answers);  // 9: found, 90; 10: inserted, 100
  ASSERT_EQ(answers.size, 2u);
  for (std::size_t i = 0; i < answers.size; ++i) {
    EXPECT_EQ(statuses[i], ids[i] == 9 ? holdfast::Status::found : holdfast::Status::inserted);
    EXPECT_EQ(read[i], 10 * ids[i]);
  }
  EXPECT_EQ(read[2], 10 * ids[2]) << "of the search for three keys";
}

}  // namespace
