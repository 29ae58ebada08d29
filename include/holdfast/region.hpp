// region.hpp: bytes of a pool for a program's own durable data, on the CPU and in CUDA kernels. GPM §5.1.
//
//   holdfast::Region sums = holdfast::Region::create(pool, "sums", n * sizeof(double), {.gpu = true});
//   holdfast::Section section = sums.section(holdfast::Domain::process, holdfast::Writer::gpu);
//   kernel<<<blocks, threads, 0, stream>>>(section.as<double>().data());     // stores, then holdfast::persist()
//   cudaStreamSynchronize(stream);
//   section.end();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "holdfast/pool.hpp"

namespace holdfast {

/// The writer of a section.
enum class Writer : std::uint8_t { cpu, gpu };

struct RegionOptions {
  bool gpu = false;   ///< kernels may read and write it, at the addresses that the CPU has for it
  bool eadr = false;  ///< at creation: you state that this machine's processor writes its caches back when the power
      ///< fails (eADR). The region notes it: on medium `dax` what a GPU persists is then in domain `power`
  bool overwrite = false;  ///< at creation: atomically replace a region of that name
  bool flush = false;      ///< flush and fence as in domain `power`, on any medium
};

class Section;

/// An open region. Its bytes are zero at creation. A handle: movable, not copyable. It opens once at a time.
class Region {
 public:
  /// Makes a region. Throws InvalidArgument, ObjectExists, ObjectInUse, NoSpace, MediumError, DeviceError.
  static Region create(Pool& pool, const std::string& name, std::uint64_t bytes, const RegionOptions& options = {});
  /// Throws ObjectNotFound, ObjectInUse, PoolMismatch, PoolVersion, PoolCorrupt, PowerLost, ReadOnly, DeviceError.
  static Region open(Pool& pool, const std::string& name, const RegionOptions& options = {});

  std::uint64_t size() const;  ///< in bytes
  /// For reading. Valid until `close`, and on a GPU too if the region was opened for one. Writing needs a section.
  std::span<const std::byte> bytes() const;
  /// The same as an array, of as many whole elements as fit.
  template <class T>
  std::span<const T> as() const {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::span<const std::byte> all = bytes();
    return {reinterpret_cast<const T*>(all.data()), all.size() / sizeof(T)};
  }
  /// Returns what data that this writer has persisted survives.
  Domain domain(Writer writer = Writer::cpu) const;

  /// Begins a section, until whose end the region may be written. `domain` is what must survive: throws MediumError if
  /// the medium offers less, ReadOnly, ObjectClosed, and InvalidArgument for a GPU if the region was not opened for one.
  Section section(Domain domain = Domain::process, Writer writer = Writer::cpu);

  /// Writes the region to its device and marks it clean. Throws InvalidArgument while a section is
  /// open. Its kernels must have ended. Idempotent. The destructor does the same, and ignores errors.
  void close();
  bool is_open() const;

 private:
  friend class Section;
  friend class Transaction;
  class Impl;
  explicit Region(std::shared_ptr<Impl> impl);
  Held<std::shared_ptr<Impl>> impl_;
};

/// A period in which a region may be written: the paper's persist begin and end. Several may be open at once.
/// Movable. Kernels in it may belong to a CUDA graph; each launch of the graph must be within a section.
class Section {
 public:
  Section(Section&& other) noexcept = default;
  Section& operator=(Section&& other) noexcept;
  ~Section();  ///< ends it

  std::span<std::byte> bytes() const;
  template <class T>
  std::span<T> as() const {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::span<std::byte> all = bytes();
    return {reinterpret_cast<T*>(all.data()), all.size() / sizeof(T)};
  }
  /// Makes the CPU's stores to these bytes of the region durable. Throws InvalidArgument for other bytes.
  void persist(const void* address, std::size_t bytes) const;
  void persist() const { persist(bytes().data(), bytes().size()); }
  Domain domain() const { return domain_; }  ///< that was requested

  void end();  ///< idempotent; the spans are no longer to be written
  bool is_open() const { return region_ != nullptr; }

 private:
  friend class Region;
  Section(std::shared_ptr<Region::Impl> region, Domain domain) : region_(std::move(region)), domain_(domain) {}
  std::shared_ptr<Region::Impl> region_;
  Domain domain_;
};

}  // namespace holdfast
