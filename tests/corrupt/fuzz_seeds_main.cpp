// fuzz_seeds_main.cpp: writes the pools that fuzzing starts from: fuzz_seeds_main tests/fuzz/corpus.
#include <cstdio>
#include <exception>
#include <string>

#include "support/image.hpp"
#include "support/pages.hpp"

int main(int count, char** arguments) try {
  using holdfast::test::make_image;
  if (count != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds_main FOLDER\n");
    return 2;
  }
  struct Seed {
    const char* name;
    std::uint32_t value_bytes;
    unsigned items;
    bool clean;
    std::uint32_t key_bytes = 8;
    holdfast::Score score = holdfast::Score::none;
  };
  constexpr Seed kSeeds[] = {{"set", 0, 20, true},
                             {"in-slot", 8, 12, true},
                             {"in-slot-killed", 8, 30, false},
                             {"one-item", 16, 1, true},
                             {"cells", 40, 20, true},
                             {"cells-killed", 16, 24, false},
                             {"empty-killed", 8, 0, false},
                             {"wide-keys", 8, 12, true, 32},
                             {"wide-keys-killed", 40, 20, false, 16},
                             {"scores-killed", 4, 20, false, 8, holdfast::Score::frequency}};
  for (const Seed& seed : kSeeds) {
    const std::string path = std::string(arguments[1]) + "/" + seed.name;
    const auto image = make_image(path, seed.value_bytes, seed.items, seed.clean, seed.key_bytes, seed.score);
    holdfast::test::write_file(path, image.bytes);
    std::printf("%s: %zu bytes\n", path.c_str(), image.bytes.size());
  }
  for (const bool clean : {true, false}) {
    const std::string path = std::string(arguments[1]) + (clean ? "/pairs" : "/pairs-killed");
    const std::string packed = holdfast::test::pack_pages(holdfast::test::make_pairs_image(path, 30, clean).bytes);
    holdfast::test::write_file(path, packed);
    std::printf("%s: %zu bytes, packed\n", path.c_str(), packed.size());
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "fuzz_seeds_main: %s\n", error.what());
  return 1;
}
