// recorder.hpp: watches the calls of the system that an operation makes in a folder: keeps what a crash at each would leave, makes one
// of them fail, and counts what is not given back.
//
// The folder may lie on a tmpfs, so that tests are quick; the library takes it for a disk. A crash ends nothing: what it
// would leave is kept at each call, and looked at later.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "pool/medium/persist.hpp"
#include "proof/disk.hpp"
#include "system/calls.hpp"

namespace holdfast::proof {

using system::Call;
using system::Event;

/// What the library sees of the machine.
struct Pretence {
  bool on_disk = true;  ///< files are not in memory: medium `file`
  unsigned boot = 1;    ///< which run of the machine this is
  bool direct = false;  ///< and `on_disk`: files are persistent memory, medium `dax`
};

/// Reports it, and nothing else.
class Pretender : public system::Observer {
 public:
  explicit Pretender(Pretence pretence) : pretence_(pretence) {}
  void after(Event& event) noexcept override;

 private:
  const Pretence pretence_;
};

/// Watches as long as it lives.
class Watch {
 public:
  explicit Watch(system::Observer& observer) : before_(system::observe(&observer)) {}
  ~Watch() { system::observe(before_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  system::Observer* const before_;
};

class Recorder;

/// Watches the flushes too, of a `direct` recorder.
class FlushWatch {
 public:
  explicit FlushWatch(Recorder& recorder);
  ~FlushWatch();
  FlushWatch(const FlushWatch&) = delete;
  FlushWatch& operator=(const FlushWatch&) = delete;

 private:
  const Watch watch_;
  pool::FlushObserver* const before_;
};

/// A call that fails: the one of number `at` among those of its kind, counted from 0; and with `lasting` all later ones of that kind.
/// With `part` it does not fail, and transfers a part of its bytes. Calls are not counted together: how often a store looks at its
/// file depends on the time, and an error of another call may be one that the kernel never gives.
struct Fault {
  Call call = Call::poll;  ///< none
  std::uint64_t at = 0;
  int error = 0;
  bool lasting = false;
  bool part = false;
};

/// Of a `direct` one, also the flushes and fences of what is opened while it is watched: a line is on the device when a fence of the
/// thread has followed its flush.
class Recorder : public Pretender, public pool::FlushObserver {
 public:
  /// What is in `folder` now is on the device.
  Recorder(const std::string& folder, Pretence pretence, bool keeps_moments = true, Fault fault = {});
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  int before(const Event& event) noexcept override;
  std::uint64_t most(const Event& event) noexcept override;
  void after(Event& event) noexcept override;
  void flush(const void* address, std::size_t bytes) noexcept override;
  void fence() noexcept override;
  bool is_direct() const { return direct_; }

  /// The operation has acknowledged one more step.
  void said();
  unsigned steps() const { return step_; }

  /// What a crash would leave, after so many calls and steps.
  struct Kept {
    Moment moment;
    std::size_t calls;
    unsigned step;
  };
  /// As it is now.
  Kept now();
  const std::vector<Kept>& kept() const { return kept_; }

  struct Made {
    Call call;
    std::uint64_t number;  ///< among those of its kind
    std::string what;      ///< "msync a.hold 8192 bytes at 0"
  };
  const std::vector<Made>& made() const { return made_; }
  /// Whether the call that the fault names was made.
  bool has_failed() const { return failed_; }
  /// What was opened or mapped, and not given back; empty: nothing.
  std::string leaks() const;

 private:
  struct Mapping {
    std::uintptr_t begin, end;
    int file;  ///< kNoFile: memory
    std::uint64_t offset;
  };
  /// A descriptor of ours for a file, and a mapping of it: reading it is what takes the time.
  struct Reader {
    int fd;
    const std::byte* bytes = nullptr;
    std::size_t mapped = 0;
  };
  bool is_inside(const char* path, std::string& name) const;
  int watch(int fd, bool is_new);
  static std::uint64_t look(Reader& reader);
  void see_all();
  void keep();
  std::string describe(const Event& event) const;
  void note(const Event& event);  ///< the effect of a call
  void note_open(const Event& event);
  void note_names(const Event& event);
  void note_sync(const Event& event);
  void note_memory(const Event& event);
  void unmap(std::uintptr_t begin, std::uintptr_t end);

  const std::string folder_;
  const bool keeps_moments_;
  const bool on_disk_, direct_;
  const Fault fault_;
  std::mutex mutex_;      ///< held while a call is made, so that the order of calls is theirs
  bool existed_ = false;  ///< before the call that is being made: the file that it opens
  Disk disk_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> numbers_;  ///< of files, by device and inode
  std::vector<Reader> readers_;                                     ///< by file
  std::map<int, int> descriptors_;                                  ///< to files; kNoFile: something else
  std::set<int> folders_;                                           ///< descriptors of the folder
  std::vector<Mapping> mappings_;
  std::map<std::thread::id, std::vector<Disk::FlushedLine>> flushed_;  ///< and not fenced
  std::vector<Made> made_;
  std::array<std::uint64_t, system::kCalls> of_kind_ = {};  ///< how many were made, by kind
  std::vector<Kept> kept_;
  bool changed_ = true;  ///< since the last moment that was kept
  unsigned step_ = 0;
  bool failed_ = false;     ///< the call of the fault
  bool fails_now_ = false;  ///< the call that is being made
};

/// Errors that the kernel may give for the call; none where it cannot fail, or nothing else does the same.
std::vector<int> errors_of(Call call);

}  // namespace holdfast::proof
