// images.hpp: the folders that a crash at one moment may leave: all, where they are few; else a choice of them that is the same in
// each run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "proof/disk.hpp"
#include "proof/subject.hpp"

namespace holdfast::proof {

struct ImageFile {
  int file = kNoFile;  ///< names of one number are links
  std::uint64_t length = 0;
  std::vector<Page> pages;
};
using Image = std::map<std::string, ImageFile>;

/// What is left if the process is killed: all that it wrote, and every name.
Image killed(const Moment& moment);

struct Bounds {
  std::uint64_t all = 1024;    ///< up to so many combinations of what may be on the device, all are tried
  bool singles = true;         ///< beyond: each alone, all but each, and torn pages
  std::uint64_t samples = 64;  ///< and none, all, and so many at random
};
/// What is left if the power is cut.
void for_each_power_cut(const Moment& moment, const Bounds& bounds, const std::function<void(const Image&)>& visit);

/// Of the image's names and bytes, without the notes of who has a pool open: images of one digest are the same.
std::uint64_t digest(const Image& image);

/// Makes the files in an empty folder.
void write(const Image& image, const std::string& folder);
/// Removes all files of a folder.
void empty(const std::string& folder);

}  // namespace holdfast::proof
