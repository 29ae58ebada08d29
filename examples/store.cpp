// store: a durable key-value store: single items, expiry, conditions, counters and batches. Usage: store [POOL]
#include <holdfast/store.hpp>
#include <holdfast/table.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

int main(int argc, char** argv) try {
  const char* path = argc > 1 ? argv[1] : "/dev/shm/store.hold";
  holdfast::Pool pool = holdfast::Pool::create(path, /*overwrite=*/true);
  holdfast::Store store = holdfast::Store::create(pool, "sessions");

  // Each call is durable when it returns.
  store.set("user:17", "Ada", {.flags = 1, .expiry = store.now() + 60'000});  // for a minute
  const std::optional<holdfast::StoreItem> seen = store.get("user:17");
  if (seen) std::printf("%s\n", seen->value.c_str());
  const auto status = store.cas("user:17", "Ada L.", seen->cas);  // only if it is unchanged
  std::printf("cas: %s\n", holdfast::name(status));
  std::uint64_t hits = 0;
  store.add("hits", "41");
  store.increment("hits", 1, hits);

  // Many keys in one call, which is several times as fast.
  const std::vector<std::string> names{"a", "b", "c"};
  store.set(holdfast::Strings(names), holdfast::Strings(std::vector<std::string>{"1", "2", "3"}));
  store.erase("b");
  holdfast::StoreItems items;
  store.get(holdfast::Strings(names), items);
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::printf("%s: %s\n", names[i].c_str(),
                items.values.has(i) ? std::string(items.values[i]).c_str() : "(not there)");
  }

  // Again, as after the end of the process.
  pool.close();
  pool = holdfast::Pool::open(path);
  store = holdfast::Store::open(pool, "sessions");
  std::size_t visited = 0;
  store.for_each([&](std::string_view, const holdfast::StoreItem&) { return ++visited != 0; });
  std::printf("%zu items, %llu hits\n", visited, static_cast<unsigned long long>(hits));
  return status == holdfast::StoreStatus::updated && hits == 42 && visited == 4 && !items.values.has(1) ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "store: %s\n", error.what());
  return 1;
}
