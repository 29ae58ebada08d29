// images.cpp: chooses, of what may or may not be on the device, combinations to try.
#include "proof/images.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "core/checksum.hpp"
#include "core/random.hpp"
#include "pool/medium/owner.hpp"
#include "pool/superblock.hpp"

namespace holdfast::proof {

namespace {

constexpr std::size_t kSector = 512;  // what a device writes whole
constexpr std::size_t kSectors = kDiskPage / kSector;

/// One thing of which the device has one of several versions: a page of a file, or the file's length.
struct Variable {
  std::size_t file, page;  ///< page: kLength for the length
  std::size_t versions;
};
constexpr std::size_t kLength = ~std::size_t{0};
using Choice = std::vector<std::size_t>;  ///< the version of each variable

std::vector<Variable> variables_of(const Moment& moment, const std::map<std::string, int>& names) {
  std::set<std::size_t> files;
  for (const auto& name : names) files.insert(static_cast<std::size_t>(name.second));
  std::vector<Variable> variables;
  for (const std::size_t file : files) {
    const FileHistory& history = *moment.files[file];
    if (history.lengths.size() > 1) variables.push_back({file, kLength, history.lengths.size()});
    for (std::size_t page = 0; page < history.pages.size(); ++page) {
      if (history.pages[page].size() > 1) variables.push_back({file, page, history.pages[page].size()});
    }
  }
  return variables;
}

ImageFile newest(const FileHistory& history, int file) {
  ImageFile image{file, history.lengths.back(), {}};
  for (const auto& versions : history.pages) image.pages.push_back(versions.back());
  return image;
}

void cut_to_length(ImageFile& file) {
  const std::size_t whole = (file.length + kDiskPage - 1) / kDiskPage;
  if (file.pages.size() > whole) file.pages.resize(whole);
  while (!file.pages.empty() && !file.pages.back()) file.pages.pop_back();
}

Image image_of(const Moment& moment, const std::map<std::string, int>& names, const std::vector<Variable>& variables,
               const Choice& choice) {
  std::map<int, ImageFile> files;
  for (const auto& name : names) {
    files.emplace(name.second, newest(*moment.files[static_cast<std::size_t>(name.second)], name.second));
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Variable& variable = variables[i];
    const FileHistory& history = *moment.files[variable.file];
    ImageFile& file = files.at(static_cast<int>(variable.file));
    if (variable.page == kLength) {
      file.length = history.lengths[choice[i]];
    } else {
      file.pages[variable.page] = history.pages[variable.page][choice[i]];
    }
  }
  Image image;
  for (const auto& [name, file] : names) image.emplace(name, files.at(file));
  for (auto& named : image) cut_to_length(named.second);
  return image;
}

Page torn(const Page& older, const Page& newer, std::size_t sectors) {
  PageBytes page = older ? *older : PageBytes{};
  const PageBytes from = newer ? *newer : PageBytes{};
  std::memcpy(page.data(), from.data(), sectors * kSector);
  return std::make_shared<const PageBytes>(page);
}

/// Walks the choices of versions for one set of names.
class Walk {
 public:
  Walk(const Moment& moment, const std::map<std::string, int>& names, const Bounds& bounds,
       const std::function<void(const Image&)>& visit)
      : moment_(moment), names_(names), variables_(variables_of(moment, names)), bounds_(bounds), visit_(visit) {}

  void go() {
    std::uint64_t combinations = 1;
    for (const Variable& variable : variables_) {
      combinations = combinations > bounds_.all ? combinations : combinations * variable.versions;
    }
    combinations <= bounds_.all ? all() : some();
    if (bounds_.singles) tear();
  }

 private:
  void show(const Choice& choice) { visit_(image_of(moment_, names_, variables_, choice)); }

  Choice oldest() const { return Choice(variables_.size(), 0); }
  Choice newest_choice() const {
    Choice choice;
    for (const Variable& variable : variables_) choice.push_back(variable.versions - 1);
    return choice;
  }

  void all() {
    for (Choice choice = oldest();;) {
      show(choice);
      std::size_t i = 0;
      while (i < choice.size() && ++choice[i] == variables_[i].versions) choice[i++] = 0;
      if (i == choice.size()) return;
    }
  }

  void some() {
    show(oldest());
    show(newest_choice());
    for (std::size_t i = 0; bounds_.singles && i < variables_.size(); ++i) {
      for (std::size_t version = 0; version < variables_[i].versions; ++version) {
        for (Choice choice : {oldest(), newest_choice()}) {
          if (choice[i] == version) continue;
          choice[i] = version;
          show(choice);
        }
      }
    }
    Random random(variables_.size());
    for (std::uint64_t sample = 0; sample < bounds_.samples; ++sample) {
      Choice choice;
      for (const Variable& variable : variables_) choice.push_back(random.below(variable.versions));
      show(choice);
    }
  }

  /// Each page alone half-written: all else as it was, or as it is.
  void tear() {
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      if (variables_[i].page == kLength) continue;
      const auto& versions = moment_.files[variables_[i].file]->pages[variables_[i].page];
      for (const Choice& choice : {oldest(), newest_choice()}) {
        Image image = image_of(moment_, names_, variables_, choice);
        const std::size_t sectors = 1 + (i + choice[i]) % (kSectors - 1);
        for (auto& named : image) {
          auto& pages = named.second.pages;
          if (named.second.file != static_cast<int>(variables_[i].file) || variables_[i].page >= pages.size()) continue;
          pages[variables_[i].page] = torn(versions[versions.size() - 2], versions.back(), sectors);
        }
        visit_(image);
      }
    }
  }

  const Moment& moment_;
  const std::map<std::string, int>& names_;
  const std::vector<Variable> variables_;
  const Bounds& bounds_;
  const std::function<void(const Image&)>& visit_;
};

/// A page of zeros has the digest 0.
std::uint64_t digest_of(const Page& page, std::uint64_t offset) {
  if (!page) return 0;
  PageBytes bytes = *page;
  const std::uint64_t begin = std::max(pool::kOwnerOffset, offset);
  const std::uint64_t end = std::min(pool::kOwnerOffset + sizeof(pool::OwnerNote), offset + kDiskPage);
  if (begin < end) std::memset(bytes.data() + (begin - offset), 0, end - begin);
  return bytes == PageBytes{} ? 0 : checksum(bytes.data(), bytes.size());
}

constexpr std::size_t kMostChanges = 6;  // of names, of which all subsets are tried

/// Which of the changes of names are there: all subsets; of many, the prefixes, the suffixes, each alone and all but each.
std::set<std::vector<bool>> subsets(std::size_t n) {
  std::set<std::vector<bool>> all;
  if (n <= kMostChanges) {
    for (std::uint64_t bits = 0; bits >> n == 0; ++bits) {
      std::vector<bool> which(n);
      for (std::size_t i = 0; i < n; ++i) which[i] = (bits >> i & 1) != 0;
      all.insert(which);
    }
    return all;
  }
  for (std::size_t i = 0; i <= n; ++i) {
    for (const bool value : {false, true}) {
      std::vector<bool> part(n, value), one(n, value);
      std::fill(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(i), !value);
      if (i < n) one[i] = !value;
      all.insert(part);
      all.insert(one);
    }
  }
  return all;
}

}  // namespace

Image killed(const Moment& moment) {
  Image image;
  for (const auto& [name, file] : names_after(moment, std::vector<bool>(moment.changes.size(), true))) {
    image.emplace(name, newest(*moment.files[static_cast<std::size_t>(file)], file));
    cut_to_length(image.at(name));
  }
  return image;
}

void for_each_power_cut(const Moment& moment, const Bounds& bounds, const std::function<void(const Image&)>& visit) {
  std::set<std::map<std::string, int>> seen;
  for (const std::vector<bool>& which : subsets(moment.changes.size())) {
    const std::map<std::string, int> names = names_after(moment, which);
    if (seen.insert(names).second) Walk(moment, names, bounds, visit).go();
  }
}

std::uint64_t digest(const Image& image) {
  std::uint64_t state = 0;
  const auto add = [&](std::uint64_t word) { state = checksum_step(state, word); };
  std::map<int, std::uint64_t> numbers;  // in the order of names, so that only links matter
  for (const auto& [name, file] : image) {
    add(checksum(name.data(), name.size()));
    add(numbers.emplace(file.file, numbers.size()).first->second);
    add(file.length);
    for (std::size_t i = 0; i < file.pages.size(); ++i) add(digest_of(file.pages[i], i * kDiskPage));
  }
  return state;
}

void write(const Image& image, const std::string& folder) {
  std::map<int, std::string> made;
  const auto must = [&](bool done) {
    if (!done) throw std::runtime_error("an image cannot be written to " + folder);
  };
  for (const auto& [name, file] : image) {
    const std::string path = folder + "/" + name;
    if (const auto first = made.find(file.file); first != made.end()) {
      must(link(first->second.c_str(), path.c_str()) == 0);
      continue;
    }
    made.emplace(file.file, path);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    must(fd >= 0);
    if (file.length != 0)
      must(posix_fallocate(fd, 0, static_cast<off_t>(file.length)) == 0);  // no file system makes holes of it
    for (std::size_t i = 0; i < file.pages.size(); ++i) {
      const std::size_t bytes = std::min<std::uint64_t>(kDiskPage, file.length - i * kDiskPage);
      const auto offset = static_cast<off_t>(i * kDiskPage);
      if (file.pages[i]) must(pwrite(fd, file.pages[i]->data(), bytes, offset) == static_cast<ssize_t>(bytes));
    }
    close(fd);
  }
}

void empty(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) std::filesystem::remove_all(entry.path());
}

}  // namespace holdfast::proof
