// group_table.cpp: keeps the newest version of each document in a group hashing table: every change is durable when its call returns.
#include <holdfast/structures.hpp>
#include <holdfast/table.hpp>

#include <cstdint>
#include <cstdio>
#include <optional>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s POOL\n", argv[0]);
    return 2;
  }
  constexpr std::uint64_t kDocuments = 10'000;
  {
    holdfast::Pool pool = holdfast::Pool::create(argv[1], true);
    holdfast::GroupTable versions = holdfast::GroupTable::create(pool, "versions", {.cells = 1024});
    for (std::uint64_t id = 0; id < kDocuments; ++id) versions.insert(id, 1);  // it grows
    for (std::uint64_t id = 0; id < kDocuments; id += 2) versions.assign(id, 2);
    for (std::uint64_t id = 0; id < kDocuments; id += 5) versions.erase(id);
  }
  holdfast::Pool pool = holdfast::Pool::open(argv[1]);
  const holdfast::GroupTable versions = holdfast::GroupTable::open(pool, "versions");
  const std::optional<std::uint64_t> two = versions.find(2), three = versions.find(3), five = versions.find(5);
  std::printf("%llu documents in %llu cells; 2 has version %llu, 3 version %llu, 5 is %s\n",
              static_cast<unsigned long long>(versions.size()), static_cast<unsigned long long>(versions.cells()),
              static_cast<unsigned long long>(two.value_or(0)), static_cast<unsigned long long>(three.value_or(0)),
              five ? "there" : "gone");
  const bool right = versions.size() == kDocuments / 5 * 4 && two == 2 && three == 1 && !five;
  return right && pool.check().errors.empty() ? 0 : 1;
}
