// open_object.hpp: an object of a pool that is open, as its pool knows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "holdfast/pool.hpp"
#include "pool/edit.hpp"
#include "pool/object.hpp"
#include "system/fork.hpp"

namespace holdfast::pool {

/// An open object whose bytes do not change while this lives.
struct Quiesced {
  virtual ~Quiesced() = default;
  const Object* object = nullptr;
  std::uint64_t items = 0;
  std::uint64_t damaged = 0;  ///< items, which the copy has as they are
};

/// An object of which a snapshot needs no more than a moment: it is quiesced for `begin`, and what it had then is read while its changes run again.
/// It is not closed as long as this lives. Made and destroyed by one thread, while the object is not quiesced.
struct Frozen {
  virtual ~Frozen() = default;
  const Object* object = nullptr;

  /// This is the moment. The object is quiesced. False: there is no memory for it, and the object is copied while it is quiesced.
  virtual bool begin() = 0;
  /// Copies what these bytes of an extent, other than pages, had at the moment; all multiples of 4096, and each once. Thread-safe. Throws NoSpace.
  virtual void read(const std::byte* from, std::uint64_t bytes, std::byte* to) = 0;
};

/// Open from its construction to `close`, or to the end of its last handle. Its kind derives from it.
class OpenObject {
  /// Reports the end of the destructor: a promise that is dropped instead allocates memory for an error.
  struct End {
    std::promise<void> report;
    ~End() { report.set_value(); }
  } end_;  // the first member: destroyed after all others and after those of derived classes

 public:
  OpenObject(std::uint32_t its_number, std::string its_path) : number(its_number), path(std::move(its_path)) {}
  virtual ~OpenObject() = default;
  OpenObject(const OpenObject&) = delete;
  OpenObject& operator=(const OpenObject&) = delete;

  const std::uint32_t number;
  const std::string path;  ///< for messages: the pool's, and the object's name if it has others

  virtual bool is_open() const = 0;
  /// As its user would close it: throws InvalidArgument where that is too early. In a forked child it waits for nothing.
  virtual void close() = 0;
  /// Verifies it as it is. Throws ObjectClosed where it was closed meanwhile.
  virtual CheckReport check() = 0;
  /// Waits until no change runs, and keeps it so; null if it was closed meanwhile. Throws what stands in the way of a snapshot.
  virtual std::unique_ptr<Quiesced> quiesce(const SnapshotOptions& how) = 0;
  /// Null: a snapshot copies the object while it is quiesced; or it was closed.
  virtual std::unique_ptr<Frozen> freeze() { return nullptr; }
  /// Whether `quiesce` may wait for what a user of several objects does next. Such objects are quiesced first.
  virtual bool waits_for_user() const { return false; }
  /// Throws InvalidArgument where another thread that quiesces it would wait for this one.
  virtual void refuse_wait_for_self() const {}

  /// Ready when the destructor, which may close the object, has ended.
  std::shared_future<void> ended() { return end_.report.get_future().share(); }

 protected:
  /// In a process forked from the one that opened it.
  bool forked() const { return !process_.is_this(); }

 private:
  const system::OwningProcess process_;
};

/// What makes one within an edit, and what opens one; `label` is how messages name it.
using MakeObject =
    std::function<std::shared_ptr<OpenObject>(Edit&, const std::shared_ptr<PoolFile>&, const std::string& label)>;
using ReopenObject = std::function<std::shared_ptr<OpenObject>(const std::shared_ptr<PoolFile>&, const ObjectEntry&,
                                                               const std::string& label)>;

}  // namespace holdfast::pool
