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

/// Who writes in a section.
enum class Writer : std::uint8_t { cpu, gpu };

struct RegionOptions {
  bool gpu = false;   ///< kernels may read and write it, at the addresses that the CPU has for it
  bool eadr = false;  ///< at creation: you state that this machine's processor writes its caches back when the power
      ///< fails (eADR). The region notes it: on medium `dax` what a GPU persists is then in domain `power`
  bool overwrite = false;  ///< at creation: take the place of a region of that name, in one commit
  bool flush = false;      ///< flush and fence as domain `power` asks, on any medium
};

class Section;

/// A region that is open. Its bytes are zero when it is made. A handle: movable, not copyable. It opens once at a time.
class Region {
 public:
  /// Throws InvalidArgument, ObjectExists, ObjectInUse, NoSpace, MediumError, DeviceError; then nothing changed.
  static Region create(Pool& pool, const std::string& name, std::uint64_t bytes, const RegionOptions& options = {});
  /// Throws ObjectNotFound, ObjectInUse, PoolMismatch, PoolVersion, PoolCorrupt, PowerLost, ReadOnly, DeviceError.
  static Region open(Pool& pool, const std::string& name, const RegionOptions& options = {});

  std::uint64_t size() const;  ///< in bytes
  /// To read. Valid until `close`, and on a GPU too if the region was opened for one. Whoever writes needs a section.
  std::span<const std::byte> bytes() const;
  /// The same as an array, of as many whole elements as fit.
  template <class T>
  std::span<const T> as() const {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::span<const std::byte> all = bytes();
    return {reinterpret_cast<const T*>(all.data()), all.size() / sizeof(T)};
  }
  /// What survives of what this writer has persisted.
  Domain domain(Writer writer = Writer::cpu) const;

  /// From now until its end the region may be written. `domain` is what must survive: throws MediumError where less does.
  /// Throws ReadOnly, TableClosed, and InvalidArgument for a GPU if the region was not opened for one.
  Section section(Domain domain = Domain::process, Writer writer = Writer::cpu);

  /// Puts the region on its device and marks it clean. Throws InvalidArgument while a section is open. Kernels that use it have ended.
  /// Idempotent. A handle that goes without it does the same, and says nothing of errors.
  void close();
  bool is_open() const;

 private:
  friend class Section;
  friend class Transaction;
  class Impl;
  explicit Region(std::shared_ptr<Impl> impl);
  Held<std::shared_ptr<Impl>> impl_;
};

/// The time in which a region is written: the paper's persist begin and end. Several may be open at once. Movable.
/// Kernels in it may belong to a CUDA graph; each launch of the graph lies within a section.
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
  /// What the CPU wrote to these bytes of the region is durable when this returns. Throws InvalidArgument for other bytes.
  void persist(const void* address, std::size_t bytes) const;
  void persist() const { persist(bytes().data(), bytes().size()); }
  Domain domain() const { return domain_; }  ///< that was asked for

  void end();  ///< idempotent; the spans are no longer to be written
  bool is_open() const { return region_ != nullptr; }

 private:
  friend class Region;
  Section(std::shared_ptr<Region::Impl> region, Domain domain) : region_(std::move(region)), domain_(domain) {}
  std::shared_ptr<Region::Impl> region_;
  Domain domain_;
};

}  // namespace holdfast
