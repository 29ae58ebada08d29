// geometry.hpp: the two buckets of an entry, as functions of its hash, and how they change when the number of buckets doubles.
// Mega-KV §4.1 and §4.3.2; docs/internals/cuckoo.md, "Addresses".
//
//   primary bucket    bit 0            a function of the signature
//                     bits 1 …         of the hash, as many as the index was created with
//                     bits above       a function of the signature: these come with growth
//   other bucket      the primary one XOR a function of the signature whose bit 0 is always set
//
// So an entry's own signature and the bucket that it lies in give its primary bucket, at any size of the index.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "structures/cuckoo/entry.hpp"

namespace holdfast::cuckoo {

using BucketNumber = std::uint32_t;

/// Both buckets of an entry lie in one partition: 2^15 buckets of 64 bytes, a huge page.
inline constexpr unsigned kPartitionBits = 15;
/// 2^29 buckets of 8 cells: as many cells as there are locations.
inline constexpr unsigned kMostBits = 29;

HOLDFAST_BOTH constexpr std::uint32_t low_bits(unsigned n) {
  return n >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << n) - 1;
}

struct Geometry {
  std::uint32_t created_bits = 1;  ///< log2 of the buckets that the index was created with; at least 1
  std::uint32_t bits = 1;          ///< log2 of the buckets
  std::uint32_t signature_mask = ~std::uint32_t{0};  ///< tests use fewer bits, so that signatures collide

  HOLDFAST_BOTH constexpr std::uint64_t buckets() const { return std::uint64_t{1} << bits; }
  HOLDFAST_BOTH constexpr std::uint64_t partitions() const {
    return bits > kPartitionBits ? std::uint64_t{1} << (bits - kPartitionBits) : 1;
  }

  HOLDFAST_BOTH constexpr std::uint32_t signature(Hash hash) const {
    const std::uint32_t signature = static_cast<std::uint32_t>(hash) & signature_mask;
    return signature != 0 ? signature : 1;
  }
  HOLDFAST_BOTH constexpr BucketNumber primary(Hash hash) const {
    const std::uint32_t own = own_bits(signature(hash));
    const std::uint32_t low = static_cast<std::uint32_t>(hash >> 32) & low_bits(created_bits) & ~std::uint32_t{1};
    return (low | own >> 31 | own << created_bits) & low_bits(bits);
  }
  HOLDFAST_BOTH constexpr BucketNumber other(BucketNumber bucket, std::uint32_t signature) const {
    const std::uint64_t product = signature * 0x9e37'79b9'7f4a'7c15;
    return bucket ^
           ((static_cast<std::uint32_t>(product >> 32) & low_bits(bits < kPartitionBits ? bits : kPartitionBits)) | 1);
  }
  /// Whether `bucket`, which is one of the two of an entry with this signature, is its primary one.
  HOLDFAST_BOTH constexpr bool is_primary(BucketNumber bucket, std::uint32_t signature) const {
    return (bucket & 1) == own_bits(signature) >> 31;
  }
  HOLDFAST_BOTH constexpr BucketNumber primary_of(BucketNumber bucket, std::uint32_t signature) const {
    return is_primary(bucket, signature) ? bucket : other(bucket, signature);
  }

  HOLDFAST_BOTH constexpr Geometry grown() const { return {created_bits, bits + 1, signature_mask}; }
  /// The bucket, with twice as many of them, of an entry that lies in `bucket`: this one or its counterpart in the new half. Entries of two
  /// buckets never come into one, so growth needs no displacement.
  HOLDFAST_BOTH constexpr BucketNumber grown_bucket(BucketNumber bucket, std::uint32_t signature) const {
    const Geometry next = grown();
    const BucketNumber home = primary_of(bucket, signature);
    const std::uint32_t own = own_bits(signature) << created_bits;
    const BucketNumber next_home = home | (own & (std::uint32_t{1} << bits));
    return is_primary(bucket, signature) ? next_home : next.other(next_home, signature);
  }

 private:
  /// Bits that the signature gives to the address; bit 31 becomes bit 0 of the primary bucket.
  HOLDFAST_BOTH static constexpr std::uint32_t own_bits(std::uint32_t signature) {
    return static_cast<std::uint32_t>(signature * 0xd6e8'feb8'6659'fd93 >> 32);
  }
};

/// A key under search or change.
struct Target {
  std::uint32_t signature;
  BucketNumber primary, other;

  HOLDFAST_BOTH constexpr Target(const Geometry& geometry, Hash hash)
      : signature(geometry.signature(hash)),
        primary(geometry.primary(hash)),
        other(geometry.other(primary, signature)) {}
};

}  // namespace holdfast::cuckoo
