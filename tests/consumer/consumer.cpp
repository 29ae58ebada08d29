// consumer.cpp: uses the installed package from outside the tree, with nothing but its public headers.
#include <holdfast/error.hpp>
#include <holdfast/memory_table.hpp>
#include <holdfast/pool.hpp>
#include <holdfast/status.hpp>
#include <holdfast/table.hpp>

#include <cstdint>
#include <cstdio>

int main(int, char** argv) {
  auto table =
      holdfast::Table::create(argv[1], {.shape = {.capacity = 1000}, .runtime = {.device = "cpu"}, .overwrite = true});
  const std::uint64_t key = 42, value = 4711;
  table.insert(&key, &value, 1);
  std::uint64_t read = 0;
  bool found = false;
  table.find(&key, &read, 1, &found);
  std::printf("found %d, value %llu, medium %s\n", found, static_cast<unsigned long long>(read),
              holdfast::name(table.stats().place.medium));
  holdfast::MemoryTable memory({.capacity = 1000});
  memory.insert(&key, &value, 1);
  if (memory.size() != 1) return 1;
  return found && read == value && table.size() == 1 ? 0 : 1;
}
