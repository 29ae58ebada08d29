// index_test.cpp: the suite on the CPU, with one thread and with several; addresses.
#include "suite.hpp"

namespace holdfast::cuckoo {
namespace {

template <unsigned kThreads>
struct OnCpu {
  static bool available() { return true; }
  static cpu::CpuIndex make(const Options& options) {
    return cpu::CpuIndex({.capacity = options.capacity, .threads = kThreads, .signature_bits = options.signature_bits});
  }
};

using CpuMakers = testing::Types<OnCpu<1>, OnCpu<4>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, IndexSuite, CpuMakers);

TEST(IndexGeometry, GrownAddressesAgree) {
  for (Geometry old{3, 3, ~0u}; old.bits < 20; old = old.grown()) {
    const Geometry next = old.grown();
    for (std::uint64_t key = 0; key < 2000; ++key) {
      const Target before(old, hash_of(key)), after(next, hash_of(key));
      ASSERT_LT(after.primary, next.buckets());
      ASSERT_LT(after.other, next.buckets());
      ASSERT_NE(before.primary, before.other);
      ASSERT_EQ(old.other(before.other, before.signature), before.primary);
      ASSERT_TRUE(old.is_primary(before.primary, before.signature));
      ASSERT_FALSE(old.is_primary(before.other, before.signature));
      ASSERT_EQ(before.primary >> kPartitionBits, before.other >> kPartitionBits);
      ASSERT_EQ(old.grown_bucket(before.primary, before.signature), after.primary);
      ASSERT_EQ(old.grown_bucket(before.other, before.signature), after.other);
      ASSERT_EQ(after.primary & low_bits(old.bits), before.primary);
      ASSERT_EQ(after.other & low_bits(old.bits), before.other);
    }
  }
}

}  // namespace
}  // namespace holdfast::cuckoo
