// objects_image.cpp: makes a pool of several objects, and turns some tables of it into objects of a later version.
#include "support/objects_image.hpp"

#include <filesystem>
#include <vector>

#include "holdfast/table.hpp"
#include "support/image.hpp"
#include "support/pool_bytes.hpp"

namespace holdfast::test {
namespace {

struct Made {
  std::uint32_t number;
  const char* name;
  std::uint32_t key_bytes = 8, value_bytes = 8;
  Score score = Score::none;
  bool closed = true;
};

constexpr const char* kLongestName = "a name of sixty-three bytes, which are as many as there may be.";
constexpr Made kMade[] = {
    {1, "dropped"},
    {kNumbers, "numbers"},
    {kCells, "cells", 8, 40, Score::none, false},
    {kWide, "breite Schl\xc3\xbcssel", 32},
    {kScored, "scores", 8, 12, Score::frequency},
    {kSet, "set", 8, 0, Score::none, false},
    {kUnknown, "a log"},
    {kFeatured, "featured"},
    {kNewer, "newer", 8, 40},
    {kOptional, kLongestName, 16, 20},
    {kPairs, "pairs", kVariableBytes, kVariableBytes},
};

CreateOptions options_for(const Made& made) {
  CreateOptions options;
  options.shape.key_bytes = made.key_bytes;
  options.shape.value_bytes = made.value_bytes;
  options.shape.score = made.score;
  options.shape.capacity = 16;
  options.runtime.device = "cpu";
  options.runtime.threads = 1;
  options.shape.seed = 1000 + made.number;
  return options;
}

/// The memory objects of a type, a version and features that this version lacks.
void make_later(pool::ObjectEntry& entry) {
  if (entry.number == kUnknown) entry.type = kUnknownType;
  if (entry.number == kFeatured) entry.required = 1u << 5;
  if (entry.number == kNewer) entry.type_version = gphash::kTableVersion + 1;
  if (entry.number == kOptional) entry.optional = 1u << 9;
}

}  // namespace

ObjectsImage make_objects_image(const std::string& path, bool pairs) {
  ObjectsImage image;
  {
    Pool pool = Pool::create(path, true);
    std::vector<Table> open;
    for (const Made& made : kMade) {
      if (made.number == kPairs && !pairs) continue;
      Table table = pool.create_table(made.name, options_for(made));
      const Items items = fill(table, 10 + made.number, options_for(made).shape.seed);
      const bool opens = made.number != 1 && (made.number < kUnknown || made.number > kNewer);
      if (opens) image.items[made.number] = items;
      if (made.closed) table.close();
      open.push_back(std::move(table));
    }
    pool.drop(kMade[0].name);
    image.bytes = read_file(path);
  }
  std::filesystem::remove(path);
  edit_directory(image.bytes, [](pool::Directory& directory) {
    for (pool::ObjectEntry& entry : directory.objects) make_later(entry);
  });
  return image;
}

}  // namespace holdfast::test
