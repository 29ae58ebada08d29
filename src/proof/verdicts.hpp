// verdicts.hpp: what subjects say of a pool after a crash, and how they use it after an error.
#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/error.hpp"
#include "pool/medium/persist.hpp"
#include "proof/subject.hpp"

namespace holdfast::proof {

/// Uses something after an error. It may say that it cannot be used; one that takes a right call for a wrong one is wrong.
template <class Use>
void tried(const Use& use) {
  try {
    use();
  } catch (const InvalidArgument& error) {
    throw std::logic_error(std::string("after an error it takes a right call for a wrong one: ") + error.what());
  } catch (const Error&) {
    // It says so.
  }
}

/// What `look` says. Only a power cut may make it refuse, and only what was not `synced`: then it can be salvaged, which `salvage` does.
template <class Look, class Salvage>
std::string verdict(Crash crash, bool synced, const Look& look, const Salvage& salvage) {
  try {
    return look();
  } catch (const PowerLost& error) {
    if (crash != Crash::power || synced) return std::string("refused, and nothing can be lost: ") + error.what();
  } catch (const Error& error) {
    return std::string("does not open: ") + error.what();
  }
  try {
    salvage();
  } catch (const Error& error) {
    return std::string("cannot be salvaged: ") + error.what();
  }
  return {};
}

/// What `use` says of a pool that is used further.
template <class Use>
std::string used_further(const Use& use) {
  std::string wrong;
  try {
    wrong = use();
  } catch (const PowerLost&) {
    // `check` has seen that it may be.
  } catch (const Error& error) {
    wrong = error.what();
  }
  return wrong.empty() ? "" : "used further: " + wrong;
}

/// Keeps the bytes of a file at each fence.
class AtEachFence : public pool::FlushObserver {
 public:
  explicit AtEachFence(std::string path) : path_(std::move(path)), before_(pool::observe_flushes(this)) {}
  ~AtEachFence() override { pool::observe_flushes(before_); }
  void flush(const void*, std::size_t) noexcept override {}
  void fence() noexcept override {
    std::ifstream stream(path_, std::ios::binary);
    kept.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  std::vector<std::string> kept;

 private:
  const std::string path_;
  pool::FlushObserver* const before_;
};

}  // namespace holdfast::proof
