// medium.cpp: asks the kernel what a file lies on.
#include "pool/medium/medium.hpp"

#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>

#include "holdfast/error.hpp"
#include "pool/medium/system.hpp"

namespace holdfast::memory {

namespace {

constexpr std::uint32_t kTmpfs = 0x01021994;
constexpr std::uint32_t kRamfs = 0x858458f6;
constexpr std::uint32_t kHugetlbfs = 0x958458f6;
// Of those that compress (ZFS, bcachefs), or lie elsewhere (NFS, FUSE), a file may have fewer blocks than it has room.
constexpr std::uint32_t kCounting[] = {
    kTmpfs,     kHugetlbfs,
    0xef53,       // ext2, ext3, ext4
    0x58465342,   // XFS
    0x9123683e,   // Btrfs, which counts what it compresses in full
    0x794c7630};  // overlayfs: as what it lies on, which is one of these nearly always

/// True if the kernel maps the file with MAP_SYNC: its pages are the medium itself.
bool maps_directly(const File& file) {
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

MediumFacts find_medium(const File& file) {
  struct statfs found = {};
  if (system::fstatfs(file.fd(), found) != 0)
    throw SystemError(system_message(file.path(), "cannot be looked at", errno));
  MediumFacts facts;
  const auto type = static_cast<std::uint32_t>(found.f_type);
  if (type == kTmpfs || type == kRamfs || type == kHugetlbfs) {
    facts.medium = Medium::shm;
    if (type == kHugetlbfs) facts.granule = static_cast<std::uint64_t>(found.f_bsize);
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
  // A GPU's writes may rest in a cache of the processor that no flush of ours reaches, so no more is claimed for them.
  return facts.medium == Medium::dax && !gpu ? Domain::power : Domain::process;
}

}  // namespace holdfast::memory
