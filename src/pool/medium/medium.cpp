// medium.cpp: asks the kernel what a file lies on.
#include "pool/medium/medium.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>

#include "holdfast/error.hpp"
#include "system/calls.hpp"

namespace holdfast::pool {

namespace {

// Of those that compress (ZFS, bcachefs), or lie elsewhere (NFS, FUSE), a file may have fewer blocks than allocated bytes.
constexpr std::uint32_t kCounting[] = {
    system::kTmpfs, system::kHugetlbfs,
    0xef53,       // ext2, ext3, ext4
    0x58465342,   // XFS
    0x9123683e,   // Btrfs, which counts what it compresses in full
    0x794c7630};  // overlayfs: as what it lies on, which is one of these nearly always

/// True if the kernel maps the file with MAP_SYNC: its pages are the medium itself.
bool maps_directly(const system::File& file) {
  void* const page = system::mmap(nullptr, kPage, PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, file.fd(), 0);
  if (page == MAP_FAILED) return false;
  system::munmap(page, kPage);
  return true;
}

/// True for /proc/<pid>/fd/N of a process that is not this one.
bool names_other_process(const std::string& path) {
  const std::string prefix = "/proc/";
  if (path.compare(0, prefix.size(), prefix) != 0) return false;
  const std::size_t end = path.find('/', prefix.size());
  if (end == std::string::npos || path.compare(end, 4, "/fd/") != 0) return false;
  const std::string process = path.substr(prefix.size(), end - prefix.size());
  return process.find_first_not_of("0123456789") == std::string::npos && process != std::to_string(getpid());
}

}  // namespace

MediumFacts find_medium(const system::File& file) {
  const system::FileSystem found = file.file_system();
  MediumFacts facts;
  const std::uint32_t type = found.type;
  if (type == system::kTmpfs || type == system::kRamfs || type == system::kHugetlbfs) {
    facts.medium = Medium::shm;
    if (type == system::kHugetlbfs) facts.granule = found.block_bytes;
  } else {
    facts.medium = maps_directly(file) ? Medium::dax : Medium::file;
  }
  facts.counts_blocks = std::find(std::begin(kCounting), std::end(kCounting), type) != std::end(kCounting);
  facts.unlinked = file.facts().links == 0;
  facts.held_elsewhere = facts.unlinked && names_other_process(file.path());
  return facts;
}

Domain domain_of(const MediumFacts& facts, bool gpu) {
  if (facts.unlinked) return facts.held_elsewhere ? Domain::process : Domain::none;
  // A GPU's writes may stay in a cache of the processor that no flush of ours reaches, so no more is claimed for them.
  return facts.medium == Medium::dax && !gpu ? Domain::power : Domain::process;
}

}  // namespace holdfast::pool
