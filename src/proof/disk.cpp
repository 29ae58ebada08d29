// disk.cpp: keeps the histories of files and names.
#include "proof/disk.hpp"

#include <algorithm>
#include <cstring>

#include "core/checksum.hpp"

namespace holdfast::proof {

namespace {

constexpr PageBytes kZeros = {};

std::size_t pages_of(std::uint64_t bytes) { return (bytes + kDiskPage - 1) / kDiskPage; }

/// Is it these bytes, and zeros behind them?
bool holds(const Page& page, const std::byte* bytes, std::size_t length) {
  const PageBytes& content = page ? *page : kZeros;
  return std::memcmp(content.data(), bytes, length) == 0 &&
         std::memcmp(content.data() + length, kZeros.data(), kDiskPage - length) == 0;
}

}  // namespace

int Disk::add(const std::byte* bytes, std::uint64_t length) {
  files_.push_back(std::make_shared<FileHistory>());
  files_.back()->lengths = {0};
  now_.files.push_back(files_.back());
  stuck_.emplace_back();
  const int file = static_cast<int>(files_.size()) - 1;
  see(file, bytes, length);
  sync(file);
  return file;
}

/// A copy of the history if moments share it.
FileHistory& Disk::change(int file) {
  auto& history = files_[static_cast<std::size_t>(file)];
  if (history.use_count() > 2) {  // here, and in now_
    history = std::make_shared<FileHistory>(*history);
    now_.files[static_cast<std::size_t>(file)] = history;
  }
  return *history;
}

Page Disk::interned(const std::byte* bytes, std::size_t length) {
  PageBytes page = {};
  std::memcpy(page.data(), bytes, length);
  if (page == kZeros) return nullptr;
  const std::uint64_t key = checksum(page.data(), page.size());
  for (auto [at, end] = known_.equal_range(key); at != end; ++at) {
    if (*at->second == page) return at->second;
  }
  return known_.emplace(key, std::make_shared<const PageBytes>(page))->second;
}

bool Disk::see(int file, const std::byte* bytes, std::uint64_t length) {
  const auto history = [&]() -> const FileHistory& { return *files_[static_cast<std::size_t>(file)]; };
  bool changed = false;
  const std::size_t most = std::max(history().pages.size(), pages_of(length));
  for (std::size_t i = 0; i < most; ++i) {
    const std::uint64_t begin = std::min(i * kDiskPage, length);
    const std::size_t rest = std::min<std::uint64_t>(kDiskPage, length - begin);
    const Page last = i < history().pages.size() ? history().pages[i].back() : nullptr;
    if (holds(last, bytes + begin, rest)) continue;
    FileHistory& mine = change(file);
    if (i >= mine.pages.size()) mine.pages.resize(i + 1, {nullptr});  // zero on the device
    mine.pages[i].push_back(interned(bytes + begin, rest));
    changed = true;
  }
  if (history().lengths.back() != length) {
    change(file).lengths.push_back(length);
    changed = true;
  }
  return changed;
}

/// Pages [first, end) are on the device as they are now, but for what is stuck.
void Disk::settle(int file, std::size_t first, std::size_t end) {
  FileHistory& history = change(file);
  auto& stuck = stuck_[static_cast<std::size_t>(file)];
  stuck.resize(std::max(stuck.size(), history.pages.size()));
  for (std::size_t i = first; i < std::min(end, history.pages.size()); ++i) {
    auto& versions = history.pages[i];
    if (versions.size() <= stuck[i]) continue;  // nothing was written since the sync that failed
    versions.erase(versions.begin(), versions.end() - 1);
    stuck[i] = 0;
  }
}

void Disk::sync(int file) {
  settle(file, 0, ~std::size_t{0});
  FileHistory& history = change(file);
  history.lengths = {history.lengths.back()};
}

void Disk::sync(int file, std::uint64_t offset, std::uint64_t bytes) {
  settle(file, offset / kDiskPage, pages_of(offset + bytes));
  auto& lengths = change(file).lengths;
  const std::uint64_t least = std::min(offset + bytes, lengths.back());
  std::erase_if(lengths, [&](std::uint64_t length) { return length < least; });
}

Disk::FlushedLine Disk::flush(int file, std::uint64_t offset) const {
  const auto& pages = files_[static_cast<std::size_t>(file)]->pages;
  const std::size_t page = offset / kDiskPage;
  return {file, offset, page < pages.size() ? pages[page].back() : nullptr};
}

void Disk::settle(const FlushedLine& line) {
  const std::size_t page = line.offset / kDiskPage, at = line.offset % kDiskPage;
  const auto& pages = files_[static_cast<std::size_t>(line.file)]->pages;
  if (page >= pages.size() || pages[page].size() == 1) return;
  const auto has_it = [&](const Page& version) {
    return std::memcmp((version ? *version : kZeros).data() + at, (line.content ? *line.content : kZeros).data() + at,
                       kDiskLine) == 0;
  };
  // Versions that are older than the last one with this line cannot be of the device any more.
  const auto newest = std::find_if(pages[page].rbegin(), pages[page].rend(), has_it);
  const auto older = static_cast<std::size_t>(pages[page].rend() - newest);  // and itself
  if (std::all_of(pages[page].begin(), pages[page].begin() + static_cast<std::ptrdiff_t>(older), has_it)) return;
  auto& versions = change(line.file).pages[page];
  for (std::size_t i = 0; i < older; ++i) {
    PageBytes bytes = versions[i] ? *versions[i] : kZeros;
    std::memcpy(bytes.data() + at, (line.content ? *line.content : kZeros).data() + at, kDiskLine);
    versions[i] = interned(bytes.data(), bytes.size());
  }
  versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
}

void Disk::fail_sync(int file, std::uint64_t offset, std::uint64_t bytes) {
  const FileHistory& history = *files_[static_cast<std::size_t>(file)];
  auto& stuck = stuck_[static_cast<std::size_t>(file)];
  stuck.resize(std::max(stuck.size(), history.pages.size()));
  const std::size_t end = bytes == ~std::uint64_t{0} ? history.pages.size() : pages_of(offset + bytes);
  for (std::size_t i = offset / kDiskPage; i < std::min(end, history.pages.size()); ++i) {
    if (history.pages[i].size() > 1) stuck[i] = history.pages[i].size();
  }
}

void Disk::rewrite(int file, std::uint64_t offset, std::uint64_t bytes) {
  auto& stuck = stuck_[static_cast<std::size_t>(file)];
  for (std::size_t i = offset / kDiskPage; i < std::min(pages_of(offset + bytes), stuck.size()); ++i) stuck[i] = 0;
}

void Disk::sync_names() {
  now_.names = names_after(now_, std::vector<bool>(now_.changes.size(), true));
  now_.changes.clear();
}

int Disk::named(const std::string& name) const {
  const auto all = names_after(now_, std::vector<bool>(now_.changes.size(), true));
  const auto found = all.find(name);
  return found == all.end() ? kNoFile : found->second;
}

std::map<std::string, int> names_after(const Moment& moment, const std::vector<bool>& which) {
  std::map<std::string, int> names = moment.names;
  for (std::size_t i = 0; i < moment.changes.size(); ++i) {
    if (!which[i]) continue;
    for (const auto& [name, file] : moment.changes[i]) {
      if (file == kNoFile) {
        names.erase(name);
      } else {
        names[name] = file;
      }
    }
  }
  return names;
}

}  // namespace holdfast::proof
