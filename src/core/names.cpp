// names.cpp: the words of the vocabulary as text, for messages and reports.
#include "holdfast/pool.hpp"

namespace holdfast {

const char* name(Medium medium) {
  switch (medium) {
    case Medium::shm: return "shm";
    case Medium::file: return "file";
    case Medium::dax: return "dax";
  }
  return "unknown";
}

const char* name(Domain domain) {
  switch (domain) {
    case Domain::none: return "none";
    case Domain::process: return "process";
    case Domain::power: return "power";
  }
  return "unknown";
}

}  // namespace holdfast
