// recorder.cpp: follows descriptors, names and mappings to the files that they mean.
#include "proof/recorder.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace holdfast::proof {

namespace {

constexpr std::uint32_t kExt4 = 0xef53;
constexpr std::uint64_t kMostCalls = 100'000;
constexpr std::uint64_t kWhole = ~std::uint64_t{0};

/// May wait for another thread, and touches no file: it is not recorded.
bool waits(Call call) { return call == Call::poll || system::is_for_sockets(call); }

/// What is on the device after it depends on what the files hold before.
bool syncs(Call call) {
  return call == Call::fdatasync || call == Call::fsync || call == Call::syncfs || call == Call::msync;
}

bool changes_files(Call call) {
  return call == Call::ftruncate || call == Call::posix_fallocate || call == Call::punch_hole || call == Call::pwrite;
}

std::string file_name(const char* path) { return std::filesystem::path(path).filename(); }

}  // namespace

/// Ordinary files cannot be mapped with MAP_SYNC: this maps them without.
static void map_directly(Event& event) {
  for (const int protection : {PROT_READ | PROT_WRITE, PROT_READ}) {
    const int flags = (event.flags & ~(MAP_SYNC | MAP_TYPE)) | MAP_SHARED;
    void* const at = ::mmap(const_cast<void*>(event.address), event.bytes, protection, flags, event.fd,
                            static_cast<off_t>(event.offset));
    if (at == MAP_FAILED) continue;
    event.address = at;
    event.result = reinterpret_cast<std::intptr_t>(at);
    event.error = 0;
    return;
  }
}

void Pretender::after(Event& event) noexcept {
  const bool syncs_mapping = event.call == Call::mmap && (event.flags & MAP_SYNC) != 0;
  if (pretence_.direct && syncs_mapping && event.error == EOPNOTSUPP) map_directly(event);
  if (event.error != 0) return;
  if (event.call == Call::fstatfs && pretence_.on_disk) static_cast<struct statfs*>(event.out)->f_type = kExt4;
  if (event.call == Call::text && std::strcmp(event.path, "/proc/sys/kernel/random/boot_id") == 0) {
    char id[40];
    std::snprintf(id, sizeof id, "00000000-0000-4000-8000-%012u\n", pretence_.boot);
    *static_cast<std::string*>(event.out) = id;
  }
}

Recorder::Recorder(const std::string& folder, Pretence pretence, bool keeps_moments, Fault fault)
    : Pretender(pretence),
      folder_(folder),
      keeps_moments_(keeps_moments),
      on_disk_(pretence.on_disk),
      direct_(pretence.direct),
      fault_(fault) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const int fd = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw std::runtime_error("cannot watch " + entry.path().string());
    disk_.name(entry.path().filename(), watch(fd, false));
    ::close(fd);
  }
}

Recorder::~Recorder() {
  for (const Reader& reader : readers_) {
    if (reader.mapped != 0) ::munmap(const_cast<std::byte*>(reader.bytes), reader.mapped);
    ::close(reader.fd);
  }
}

/// True for a name in the folder itself.
bool Recorder::is_inside(const char* path, std::string& name) const {
  const std::filesystem::path whole(path);
  name = whole.filename();
  return whole.parent_path() == folder_;
}

/// The number of an open file; a new one's if it was not seen before.
int Recorder::watch(int fd, bool is_new) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return kNoFile;
  const auto found = numbers_.find({status.st_dev, status.st_ino});
  if (found != numbers_.end()) return found->second;
  // Opened anew: a copy of the descriptor would share the lock.
  Reader reader{.fd = ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY | O_CLOEXEC)};
  if (reader.fd < 0) return kNoFile;
  const std::uint64_t length = look(reader);
  const int file = disk_.add(reader.bytes, is_new ? 0 : length);
  numbers_[{status.st_dev, status.st_ino}] = file;
  readers_.push_back(reader);
  return file;
}

/// Maps the file as it is now; returns its length.
std::uint64_t Recorder::look(Reader& reader) {
  struct stat status = {};
  ::fstat(reader.fd, &status);
  const auto length = static_cast<std::size_t>(status.st_size);
  if (length > reader.mapped) {
    if (reader.mapped != 0) ::munmap(const_cast<std::byte*>(reader.bytes), reader.mapped);
    reader.mapped = 2 * length;
    void* const mapped = ::mmap(nullptr, reader.mapped, PROT_READ, MAP_SHARED, reader.fd, 0);
    if (mapped == MAP_FAILED) throw std::runtime_error("cannot map a file that is watched");
    reader.bytes = static_cast<const std::byte*>(mapped);
  }
  return length;
}

/// What the files hold now.
void Recorder::see_all() {
  for (std::size_t file = 0; file < readers_.size(); ++file) {
    const std::uint64_t length = look(readers_[file]);
    if (disk_.see(static_cast<int>(file), readers_[file].bytes, length)) changed_ = true;
  }
}

void Recorder::keep() {
  if (!keeps_moments_ || !changed_) return;
  kept_.push_back({disk_.now(), made_.size(), step_});
  changed_ = false;
}

void Recorder::said() {
  const std::lock_guard lock(mutex_);
  see_all();
  keep();
  ++step_;
  changed_ = true;
  keep();
}

Recorder::Kept Recorder::now() {
  const std::lock_guard lock(mutex_);
  see_all();
  return {disk_.now(), made_.size(), step_};
}

std::string Recorder::describe(const Event& event) const {
  std::string text = name(event.call);
  if (event.path != nullptr) text += " " + file_name(event.path);
  if (event.target != nullptr) text += " to " + file_name(event.target);
  if (event.bytes != 0) text += " " + std::to_string(event.bytes) + " bytes at " + std::to_string(event.offset);
  return text;
}

int Recorder::before(const Event& event) noexcept {
  if (waits(event.call)) return 0;
  mutex_.lock();
  if (keeps_moments_ || (on_disk_ && syncs(event.call))) see_all();
  keep();
  if (made_.size() == kMostCalls) {
    std::fprintf(stderr, "%s: an operation makes calls without end; the last is %s\n", folder_.c_str(),
                 made_.back().what.c_str());
    std::abort();
  }
  const std::uint64_t number = of_kind_[static_cast<unsigned>(event.call)]++;
  made_.push_back({event.call, number, describe(event)});
  if (event.call == Call::open) existed_ = ::access(event.path, F_OK) == 0;
  fails_now_ = event.call == fault_.call && (fault_.lasting ? number >= fault_.at : number == fault_.at);
  failed_ |= fails_now_;
  return fails_now_ ? fault_.error : 0;
}

/// A part is half of what was asked for, so that a part of pages is not one, and at least a byte.
std::uint64_t Recorder::most(const Event& event) noexcept {
  return fails_now_ && fault_.part ? (event.bytes + 1) / 2 : event.bytes;
}

void Recorder::after(Event& event) noexcept {
  if (waits(event.call)) return;
  Pretender::after(event);
  note(event);
  if (keeps_moments_ && changes_files(event.call)) see_all();
  keep();
  mutex_.unlock();
}

void Recorder::flush(const void* address, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  see_all();
  auto& flushed = flushed_[std::this_thread::get_id()];
  pool::each_line(address, bytes, [&](const char* line) {
    const auto at = reinterpret_cast<std::uintptr_t>(line);
    const auto has = [at](const Mapping& mapping) { return mapping.begin <= at && at < mapping.end; };
    const auto mapping = std::find_if(mappings_.begin(), mappings_.end(), has);
    if (mapping == mappings_.end() || mapping->file == kNoFile) return;
    flushed.push_back(disk_.flush(mapping->file, mapping->offset + (at - mapping->begin)));
  });
}

void Recorder::fence() noexcept {
  const std::lock_guard lock(mutex_);
  see_all();
  keep();
  auto& flushed = flushed_[std::this_thread::get_id()];
  changed_ |= !flushed.empty();
  for (const Disk::FlushedLine& line : flushed) disk_.settle(line);
  flushed.clear();
  keep();
}

FlushWatch::FlushWatch(Recorder& recorder)
    : watch_(recorder), before_(pool::observe_flushes(recorder.is_direct() ? &recorder : nullptr)) {}
FlushWatch::~FlushWatch() { pool::observe_flushes(before_); }

void Recorder::note(const Event& event) {
  switch (event.call) {
    case Call::open:
    case Call::pidfd_open: return note_open(event);
    case Call::close:
      descriptors_.erase(event.fd);
      folders_.erase(event.fd);
      return;
    case Call::rename:
    case Call::renameat2:
    case Call::link:
    case Call::unlink: return note_names(event);
    case Call::fdatasync:
    case Call::fsync:
    case Call::syncfs:
    case Call::msync: return note_sync(event);
    case Call::mmap:
    case Call::munmap: return note_memory(event);
    case Call::pwrite:
      if (const auto found = descriptors_.find(event.fd); found != descriptors_.end() && found->second != kNoFile) {
        if (event.result > 0) disk_.rewrite(found->second, event.offset, static_cast<std::uint64_t>(event.result));
      }
      return;
    default: return;
  }
}

void Recorder::note_open(const Event& event) {
  if (event.error != 0) return;
  const int fd = static_cast<int>(event.result);
  descriptors_[fd] = kNoFile;
  if (event.path == nullptr) return;
  std::string name;
  if (event.path == folder_) folders_.insert(fd);
  if (!is_inside(event.path, name)) return;
  const bool is_new = (event.flags & O_CREAT) != 0 && !existed_;
  descriptors_[fd] = watch(fd, is_new);
  if (!is_new || descriptors_[fd] == kNoFile) return;
  disk_.change_names({{name, descriptors_[fd]}});
  changed_ = true;
}

void Recorder::note_names(const Event& event) {
  if (event.error != 0) return;
  std::string from, to;
  if (!is_inside(event.path, from)) return;
  NameChange change;
  const bool exchanges = event.call == Call::renameat2 && (event.flags & RENAME_EXCHANGE) != 0;
  if (event.call != Call::link) change.emplace_back(from, exchanges ? disk_.named(file_name(event.target)) : kNoFile);
  if (event.target != nullptr && is_inside(event.target, to)) change.emplace_back(to, disk_.named(from));
  disk_.change_names(std::move(change));
  changed_ = true;
}

void Recorder::note_sync(const Event& event) {
  const bool done = event.error == 0;
  const auto sync = [&](int file, std::uint64_t offset, std::uint64_t bytes) {
    if (file == kNoFile || event.error == EINTR) return;
    if (!done) return disk_.fail_sync(file, offset, bytes);
    bytes == kWhole ? disk_.sync(file) : disk_.sync(file, offset, bytes);
  };
  if (event.call == Call::msync) {
    const auto begin = reinterpret_cast<std::uintptr_t>(event.address), end = begin + event.bytes;
    for (const Mapping& mapping : mappings_) {
      const std::uintptr_t from = std::max(begin, mapping.begin), to = std::min(end, mapping.end);
      if (from < to) sync(mapping.file, mapping.offset + (from - mapping.begin), to - from);
    }
  } else if (event.call == Call::syncfs) {
    for (std::size_t file = 0; done && file < readers_.size(); ++file) disk_.sync(static_cast<int>(file));
    if (done) disk_.sync_names();
  } else if (folders_.count(event.fd) != 0) {
    if (done) disk_.sync_names();
  } else if (const auto found = descriptors_.find(event.fd); found != descriptors_.end()) {
    sync(found->second, 0, kWhole);
  }
  changed_ = true;
}

void Recorder::unmap(std::uintptr_t begin, std::uintptr_t end) {
  std::vector<Mapping> rest;
  for (const Mapping& mapping : mappings_) {
    if (mapping.end <= begin || mapping.begin >= end) {
      rest.push_back(mapping);
      continue;
    }
    if (mapping.begin < begin) rest.push_back({mapping.begin, begin, mapping.file, mapping.offset});
    if (mapping.end > end) rest.push_back({end, mapping.end, mapping.file, mapping.offset + (end - mapping.begin)});
  }
  mappings_ = std::move(rest);
}

void Recorder::note_memory(const Event& event) {
  if (event.error != 0) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(event.address), end = begin + (event.bytes + 4095) / 4096 * 4096;
  unmap(begin, end);
  if (event.call == Call::munmap) return;
  const auto found = descriptors_.find(event.fd);
  const int type = event.flags & MAP_TYPE;
  const bool shared = type == MAP_SHARED || type == MAP_SHARED_VALIDATE;
  mappings_.push_back({begin, end, shared && found != descriptors_.end() ? found->second : kNoFile, event.offset});
}

std::string Recorder::leaks() const {
  std::string text;
  for (const auto& descriptor : descriptors_) text += " descriptor " + std::to_string(descriptor.first);
  std::uint64_t mapped = 0;
  for (const Mapping& mapping : mappings_) mapped += mapping.end - mapping.begin;
  if (mapped != 0) text += " " + std::to_string(mapped) + " bytes mapped";
  return text;
}

std::vector<int> errors_of(Call call) {
  switch (call) {
    case Call::open: return {EMFILE, EACCES, EINTR};
    case Call::close: return {EIO};
    case Call::flock: return {ENOLCK, EWOULDBLOCK, EINTR};
    case Call::fcntl: return {EINVAL};
    case Call::fchmod: return {EPERM};
    case Call::fstat: return {EIO};
    case Call::stat: return {EACCES, EIO};
    case Call::lstat: return {EACCES};
    case Call::fstatfs: return {EIO, EINTR};
    case Call::realpath: return {EACCES};
    case Call::entries: return {EMFILE, EACCES};
    case Call::text: return {EMFILE};
    case Call::ftruncate: return {EIO, EINTR};
    case Call::posix_fallocate: return {ENOSPC, EIO, EINTR};
    case Call::punch_hole: return {EOPNOTSUPP, EIO};
    case Call::unshare: return {ENOSPC, EOPNOTSUPP};
    case Call::seek: return {EINVAL};
    case Call::read:
    case Call::pread: return {EIO, EINTR};
    case Call::pwrite: return {ENOSPC, EIO, EINTR};
    case Call::sync_file_range: return {EIO};
    case Call::fdatasync: return {EIO, ENOSPC, EINTR};
    case Call::fsync: return {EIO, EINTR};
    case Call::syncfs: return {EIO};
    case Call::msync: return {EIO, ENOMEM};
    case Call::rename: return {EIO, EACCES};
    case Call::renameat2: return {EINVAL, EIO, EACCES};
    case Call::link: return {EPERM};
    case Call::unlink: return {EIO};
    case Call::mmap: return {ENOMEM, ENODEV};
    case Call::munmap: return {};
    case Call::madvise: return {EINVAL, ENOMEM};
    case Call::mbind: return {EPERM};
    case Call::membarrier: return {ENOSYS};
    case Call::pidfd_open: return {ENOSYS, EMFILE};
    case Call::poll: return {};
    case Call::socket: return {EMFILE, ENFILE, ENOBUFS};
    case Call::bind: return {EADDRINUSE, EACCES, EADDRNOTAVAIL};
    case Call::listen: return {EADDRINUSE};
    case Call::accept4: return {EAGAIN, EMFILE, ECONNABORTED, EINTR};
    case Call::connect: return {ECONNREFUSED, ETIMEDOUT, EINTR};
    case Call::getsockname: return {ENOBUFS};
    case Call::recv: return {EAGAIN, ECONNRESET, ETIMEDOUT, EINTR};
    case Call::send:
    case Call::sendmsg: return {EAGAIN, ECONNRESET, EPIPE, ENOBUFS, EINTR};
    case Call::shutdown: return {ENOTCONN};
    case Call::setsockopt: return {ENOMEM};
    case Call::epoll_create1: return {EMFILE, ENOMEM};
    case Call::epoll_ctl: return {ENOMEM, ENOSPC};
    case Call::epoll_wait: return {EINTR};
    case Call::eventfd: return {EMFILE};
    case Call::eventfd_read:
    case Call::eventfd_write: return {EAGAIN, EINTR};
  }
  return {};
}

}  // namespace holdfast::proof
