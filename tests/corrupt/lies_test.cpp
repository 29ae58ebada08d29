// lies_test.cpp: every wrong thing that a pool may say with right checksums is found, told in one clear error, and harms no other
// object; and unsealed, each is damage.
#include <gtest/gtest.h>

#include <cstddef>

#include "fixture.hpp"
#include "holdfast/table.hpp"
#include "lies.hpp"
#include "pool/object_page.hpp"
#include "pool/superblock.hpp"
#include "support/pool_bytes.hpp"

namespace holdfast::test::corrupt {
namespace {

/// What must be wrong with it; "" if the lie was told as it should be.
std::string reported(const Lie& lie, const PoolExercised& result) {
  const auto has = [&](const std::string& text) { return text.find(lie.text) != std::string::npos; };
  if (lie.victim == 0) {
    if (result.opened) return "the pool opens; ";
    return has(result.error) ? "" : "told otherwise: " + result.error + "; ";
  }
  if (!result.opened) return "the pool is refused: " + result.error + "; ";
  const auto refused = result.refused.find(lie.victim);
  if (refused == result.refused.end()) return "the object opens; ";
  if (lie.victim != kUnknown && !has(refused->second)) return "told otherwise: " + refused->second + "; ";
  return has(result.listed.at(lie.victim)) ? "" : "listed otherwise: " + result.listed.at(lie.victim) + "; ";
}

void expect_found(const std::string& group, const std::vector<Lie>& lies) {
  expect_sound(
      group, lies.size(),
      [&](std::uint64_t i) {
        std::string bytes = objects().bytes;
        lies[i].tell(bytes);
        const PoolExercised result = exercise_bytes(bytes, {lies[i].victim});
        Outcome outcome{result.opened, true, result.wrong + reported(lies[i], result)};
        if (bytes == objects().bytes) outcome.wrong += "nothing was changed; ";
        return outcome;
      },
      [&](std::uint64_t i) { return "lie " + std::to_string(i) + ": " + lies[i].text; });
}

TEST(Lies, OfTheSuperblockAreFound) { expect_found("lies_of_superblock", lies_of_superblock()); }
TEST(Lies, OfTheDirectoryAreFound) { expect_found("lies_of_directory", lies_of_directory()); }
TEST(Lies, OfPagesAreFoundAndHarmNoOtherObject) { expect_found("lies_of_pages", lies_of_pages()); }
TEST(Lies, OfShapesAreFoundAndHarmNoOtherObject) { expect_found("lies_of_shapes", lies_of_shapes()); }

/// The same bytes with the checksums that were there: nobody sealed them again.
TEST(Lies, UnsealedAreDamage) {
  for (const auto& lies : {lies_of_superblock(), lies_of_directory(), lies_of_pages(), lies_of_shapes()}) {
    expect_sound(
        "unsealed", lies.size(),
        [&](std::uint64_t i) {
          const std::string& whole = objects().bytes;
          std::string bytes = whole;
          lies[i].tell(bytes);
          const auto restore = [&](std::uint64_t at) { bytes.replace(at, 8, whole, at, 8); };
          for (unsigned copy = 0; copy < 2; ++copy) {
            restore(copy * pool::kPage + offsetof(pool::Superblock, checksum));
            for (const pool::ObjectEntry& entry : directory_in(whole).objects)
              restore(page_in(whole, entry.number) + copy * pool::kPage + offsetof(pool::ObjectPage, checksum));
          }
          restore(area_in(whole) + offsetof(pool::AreaHeader, checksum));
          const PoolExercised result = glance_at_bytes(bytes, {lies[i].victim}, i);
          Outcome outcome{result.opened, true, result.wrong};
          const bool in_page = result.opened && result.listed.count(lies[i].victim) != 0;
          const std::string what = in_page ? result.listed.at(lies[i].victim) : result.error;
          if (what.empty()) outcome.wrong += "went unnoticed; ";
          return outcome;
        },
        [&](std::uint64_t i) { return lies[i].text; });
  }
}

}  // namespace
}  // namespace holdfast::test::corrupt
