// inflate.cpp: ISA-L's inflate, member after member; or, where the library was built without it, a clear error.
#include "kmers/text/inflate.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "holdfast/error.hpp"

#ifdef HOLDFAST_WITH_ISAL

#include <isa-l/igzip_lib.h>

namespace holdfast::kmers {

struct Inflater::State {
  inflate_state isal;
  bool between = true;
  bool padded = false;  ///< zeros followed the last member: nothing else may
};

Inflater::Inflater() : state_(std::make_unique<State>()) {}
Inflater::~Inflater() = default;

bool Inflater::between() const { return state_->between; }

namespace {

[[noreturn]] void fail(int error) {
  const std::string what = error == ISAL_INCORRECT_CHECKSUM ? "their checksum is another" : "they are damaged";
  throw InputError("the gzip data cannot be inflated, " + what + ": get the file again");
}

constexpr std::uint32_t at_most(std::size_t bytes) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(bytes, std::numeric_limits<std::uint32_t>::max() / 2));
}

}  // namespace

Inflater::Step Inflater::step(const std::uint8_t* from, std::size_t bytes, char* to, std::size_t space) {
  inflate_state& isal = state_->isal;
  if (bytes == 0 && state_->between) return {};
  if (state_->between) {
    if (*from == 0) {  // tapes and block devices fill up their last block
      state_->padded = true;
      return {static_cast<std::size_t>(std::find_if(from, from + bytes, [](std::uint8_t c) { return c != 0; }) - from),
              0};
    }
    if (*from != 0x1F || state_->padded)
      throw InputError("gzip data are followed by something else: remove what follows them");
    isal_inflate_init(&isal);
    isal.crc_flag = ISAL_GZIP;
    state_->between = false;
  }
  isal.next_in = const_cast<std::uint8_t*>(from);
  isal.avail_in = at_most(bytes);
  isal.next_out = reinterpret_cast<std::uint8_t*>(to);
  isal.avail_out = at_most(space);
  const std::uint32_t in = isal.avail_in, out = isal.avail_out;
  const int result = isal_inflate(&isal);
  if (result != ISAL_DECOMP_OK && result != ISAL_END_INPUT && result != ISAL_OUT_OVERFLOW) fail(result);
  state_->between = isal.block_state == ISAL_BLOCK_FINISH;
  return {in - isal.avail_in, out - isal.avail_out};
}

}  // namespace holdfast::kmers

#else

namespace holdfast::kmers {

struct Inflater::State {};

Inflater::Inflater() {
  throw InputError(
      "it is compressed, and this build of Holdfast inflates nothing: inflate it yourself (gzip -dc FILE | holdfast "
      "kmer count - "
      "…), or build with ISA-L (libisal-dev)");
}
Inflater::~Inflater() = default;
Inflater::Step Inflater::step(const std::uint8_t*, std::size_t, char*, std::size_t) { return {}; }
bool Inflater::between() const { return true; }

}  // namespace holdfast::kmers

#endif
