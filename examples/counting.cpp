// counting.cpp: counts words of a stream in a table in memory, by two threads that wait for no line; then reads the counts.
#include <holdfast/memory_table.hpp>

#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
  holdfast::MemoryTable counts({.capacity = 100'000});
  constexpr std::uint64_t kWords = 1'000'000, kDifferent = 5000;

  const auto count = [&](std::uint64_t thread) {
    holdfast::MemoryHandle handle =
        counts.handle({.silent = true});  // a queue for each thread; changes give no answers
    holdfast::MemoryAnswers none;
    std::vector<std::uint64_t> batch(16);
    const std::vector<std::uint64_t> ones(batch.size(), 1);
    for (std::uint64_t i = 0; i < kWords; i += batch.size()) {
      for (std::size_t j = 0; j < batch.size(); ++j) batch[j] = (i + j) * (2 * thread + 1) % kDifferent;
      handle.upsert(batch.data(), ones.data(), {}, batch.size(), none);
    }
    handle.flush(none);
  };
  std::thread other(count, 1);
  count(0);
  other.join();

  // Searches: answers come in any order, each with the number that its key was given.
  holdfast::MemoryHandle handle = counts.handle();
  std::vector<std::uint64_t> keys(kDifferent), ids(kDifferent), values(kDifferent);
  for (std::uint64_t i = 0; i < kDifferent; ++i) keys[i] = i;
  holdfast::MemoryAnswers answers;
  answers.ids = ids;
  answers.values = std::as_writable_bytes(std::span(values));
  handle.get(keys.data(), {}, keys.size(), answers);
  handle.flush(answers);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < answers.size; ++i) sum += values[i];
  std::printf("%llu different words, %llu in all\n", static_cast<unsigned long long>(counts.size()),
              static_cast<unsigned long long>(sum));
  return counts.size() == kDifferent && answers.size == kDifferent && sum == 2 * kWords ? 0 : 1;
}
