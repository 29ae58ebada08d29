// used_space.cpp: fills a region with what other objects would believe, and drops it.
#include "used_space.hpp"

#include <cstring>

#include "checkpoint/layout.hpp"
#include "holdfast/region.hpp"
#include "log/protocol/shape.hpp"
#include "pool/copies.hpp"
#include "pool/superblock.hpp"

namespace holdfast::proof {

namespace {

checkpoint::CopyHeader empty_copy() {
  checkpoint::CopyHeader header = {};
  header.magic = checkpoint::kCopyMagic;
  header.sequence = 1;
  header.step = 777;
  header.data_offset = pool::kPage;
  header.catalogue_checksum = checksum(&header, 0);
  pool::seal(header);
  return header;
}

}  // namespace

void leave_used_space(Pool& pool) {
  constexpr std::uint64_t kPages = 64;
  const NothingPunched nothing;
  {
    Region region = Region::create(pool, "used", kPages * pool::kPage);
    const Section section = region.section();
    for (std::uint32_t& word : section.as<std::uint32_t>()) word = log::tail_of(1);
    const checkpoint::CopyHeader header = empty_copy();
    for (std::uint64_t page = 0; page < kPages; ++page) {
      std::memcpy(section.bytes().data() + page * pool::kPage, &header, sizeof header);
    }
  }
  Region::create(pool, "rkept", 4 * 700 * 8);
  pool.drop("used");
}

}  // namespace holdfast::proof
