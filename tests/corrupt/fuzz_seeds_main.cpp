// fuzz_seeds_main.cpp: writes the pools that fuzzing starts from: fuzz_seeds_main tests/fuzz/corpus.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <set>
#include <string>

#include "holdfast/table.hpp"
#include "support/image.hpp"
#include "support/objects_image.hpp"
#include "support/pages.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::test;

struct Seed {
  const char* name;
  std::uint32_t value_bytes;
  unsigned items;
  bool clean;
  std::uint32_t key_bytes = 8;
  Score score = Score::none;
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
                           {"scores-killed", 4, 20, false, 8, Score::frequency}};

/// A pool of several objects: tables, closed and killed, and objects that this version does not know.
struct Several {
  const char* name;
  std::set<std::uint32_t> kept;
};
const Several kSeveral[] = {{"two-tables", {kNumbers, kCells}},
                            {"tables-and-unknown", {kSet, kUnknown, kWide, kNewer}},
                            {"many-objects", {kNumbers, kCells, kWide, kScored, kSet, kUnknown, kFeatured, kOptional}},
                            {"pairs-and-scores", {kPairs, kScored}}};

void write(const std::string& path, const std::string& bytes) {
  const std::string packed = pack_pages(bytes);
  std::filesystem::remove(path);
  write_file(path, packed);
  std::printf("%s: %zu bytes, packed\n", path.c_str(), packed.size());
}

std::string several(const std::string& path, const std::set<std::uint32_t>& kept) {
  write_file(path, make_objects_image(path, kept.count(kPairs) != 0).bytes);
  Pool pool = Pool::open(path);
  for (const ObjectInfo& object : pool.objects()) {
    if (kept.count(object.number) == 0) pool.drop(object.name);
  }
  pool.close();
  return read_file(path);
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds_main FOLDER\n");
    return 2;
  }
  const std::string folder = std::string(arguments[1]) + "/";
  for (const Seed& seed : kSeeds) {
    const std::string path = folder + seed.name;
    write(path, make_image(path, seed.value_bytes, seed.items, seed.clean, seed.key_bytes, seed.score).bytes);
  }
  for (const bool clean : {true, false}) {
    const std::string path = folder + (clean ? "pairs" : "pairs-killed");
    write(path, make_pairs_image(path, 30, clean).bytes);
  }
  write(folder + "key-twice", make_key_twice_image(folder + "key-twice").bytes);
  for (const Several& seed : kSeveral) write(folder + seed.name, several(folder + seed.name, seed.kept));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "fuzz_seeds_main: %s\n", error.what());
  return 1;
}
