// region_test.cpp: regions as a user has them: made, written in sections, closed, found again, and refused.
#include "holdfast/region.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "holdfast/table.hpp"
#include "log_test.hpp"

namespace holdfast::test {
namespace {

class Regions : public OnMedium {};

TEST_P(Regions, KeepWhatASectionWrote) {
  {
    Pool pool = Pool::create(path);
    Region region = Region::create(pool, "sums", 1000);
    EXPECT_EQ(region.size(), 1000u);
    EXPECT_TRUE(
        std::all_of(region.bytes().begin(), region.bytes().end(), [](std::byte b) { return b == std::byte{}; }));
    Section section = region.section();
    EXPECT_EQ(section.as<std::uint64_t>().size(), 125u);
    section.as<std::uint64_t>()[7] = 42;
    section.persist(&section.as<std::uint64_t>()[7], 8);
    EXPECT_FALSE(pool.objects().at(0).clean);
    section.end();
  }
  Pool pool = Pool::open(path);
  EXPECT_EQ(pool.objects().at(0).type, "region");
  EXPECT_EQ(pool.objects().at(0).damage, "");
  EXPECT_TRUE(pool.objects().at(0).clean);
  EXPECT_TRUE(pool.check().errors.empty());
  const Region region = Region::open(pool, "sums");
  EXPECT_EQ(region.as<std::uint64_t>()[7], 42u);
}

TEST_P(Regions, AreZeroWhereAnObjectWasBefore) {
  Pool pool = Pool::create(path);
  {
    Region region = Region::create(pool, "a", 1 << 20);
    Section section = region.section();
    std::fill(section.bytes().begin(), section.bytes().end(), std::byte{0xff});
  }
  Region region = Region::create(pool, "a", 1 << 20, {.overwrite = true});
  region.close();
  region = Region::create(pool, "b", 1 << 20);  // where the first one was
  EXPECT_EQ(std::count(region.bytes().begin(), region.bytes().end(), std::byte{}), 1 << 20);
}

TEST_P(Regions, RefuseADomainThatTheyDoNotHave) {
  Pool pool = Pool::create(path);
  Region region = Region::create(pool, "a", 64);
  EXPECT_EQ(region.domain(), Domain::process);
  EXPECT_THROW(region.section(Domain::power), MediumError);
  EXPECT_THROW(region.section(Domain::process, Writer::gpu), InvalidArgument);
  EXPECT_TRUE(pool.objects().at(0).clean);  // and nothing has changed
}

TEST_P(Regions, AreOpenOnceAndNotDroppedMeanwhile) {
  Pool pool = Pool::create(path);
  Region region = Region::create(pool, "a", 64);
  EXPECT_THROW(Region::create(pool, "a", 64), ObjectExists);
  EXPECT_THROW(Region::open(pool, "a"), ObjectInUse);
  EXPECT_THROW(pool.drop("a"), ObjectInUse);
  EXPECT_THROW(pool.snapshot(path + ".copy"), ObjectInUse);
  EXPECT_FALSE(std::filesystem::exists(path + ".copy"));
  Section section = region.section();
  EXPECT_THROW(region.close(), InvalidArgument);
  EXPECT_THROW(pool.close(), InvalidArgument);
  section.end();
  EXPECT_THROW(section.bytes(), InvalidArgument);
  region.close();
  EXPECT_THROW(region.bytes(), ObjectClosed);
  EXPECT_EQ(Region::open(pool, "a").size(), 64u);
  pool.drop("a");
  EXPECT_THROW(Region::open(pool, "a"), ObjectNotFound);
}

TEST_P(Regions, StandBesideTables) {
  Pool pool = Pool::create(path);
  Region region = Region::create(pool, "a", 64);
  Table table = pool.create_table("t", {.runtime = {.device = "cpu"}});
  EXPECT_THROW(Region::open(pool, "t"), ObjectInUse);
  table.close();
  EXPECT_THROW(Region::open(pool, "t"), PoolMismatch);
  region.close();
  EXPECT_THROW(pool.table("a", {.runtime = {.device = "cpu"}}), PoolMismatch);
  EXPECT_TRUE(pool.check().errors.empty());
}

TEST_P(Regions, RefuseWhatTheyCannotBe) {
  Pool pool = Pool::create(path);
  EXPECT_THROW(Region::create(pool, "a", 0), InvalidArgument);
  EXPECT_THROW(Region::create(pool, "a", ~std::uint64_t{0}), InvalidArgument);
  EXPECT_TRUE(pool.objects().empty());
  Region region = Region::create(pool, "a", 64);
  const Section section = region.section();
  EXPECT_THROW(section.persist(section.bytes().data() + 60, 5), InvalidArgument);
  EXPECT_THROW(section.persist(section.bytes().data() - 1, 1), InvalidArgument);
  section.persist(section.bytes().data() + 64, 0);
}

TEST_P(Regions, AreReadInAReadOnlyPool) {
  {
    Pool pool = Pool::create(path);
    Region::create(pool, "a", 64);
  }
  Pool pool = Pool::open(path, {.read_only = true});
  Region region = Region::open(pool, "a");
  EXPECT_EQ(region.bytes()[3], std::byte{});
  EXPECT_THROW(region.section(), ReadOnly);
}

INSTANTIATE_TEST_SUITE_P(Media, Regions, testing::Values("/dev/shm", "/tmp"), medium_name);

}  // namespace
}  // namespace holdfast::test
