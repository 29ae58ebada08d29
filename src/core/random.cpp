// random.cpp: random bytes from the operating system.
#include "core/random.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "holdfast/error.hpp"

namespace holdfast {

void random_bytes(void* data, std::size_t bytes) {
  auto* at = static_cast<unsigned char*>(data);
  while (bytes != 0) {
    const ssize_t got = getrandom(at, bytes, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      throw SystemError(std::string("the system gives no random bytes: getrandom: ") + std::strerror(errno));
    }
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

std::uint64_t random_word() {
  std::uint64_t word = 0;
  while (word == 0) random_bytes(&word, sizeof word);
  return word;
}

}  // namespace holdfast
