// state.cpp: derives checkpoints and their states from seeds, and judges restored ones.
#include <cstring>

#include "kill/checkpoint/shared.hpp"
#include "proof/runs/random.hpp"

namespace holdfast::proof::kill {

CheckpointRound make_checkpoint_round(std::uint64_t seed, bool gpu) {
  Random random(mix(seed, 0x636b));
  return {seed, static_cast<std::uint32_t>(2 + random.below(random.chance(70) ? 2 : 7)), random.chance(30), gpu};
}

StateOf::StateOf(const CheckpointRound& round, std::uint64_t step) : text_("step " + std::to_string(step)) {
  Random random(mix(round.seed, step));
  words_.resize(random.below(random.chance(70) ? 2'000 : 40'000));
  for (std::uint64_t& word : words_) word = random.next();
  bytes_.resize(1 + random.below(300));
  for (std::uint8_t& byte : bytes_) byte = static_cast<std::uint8_t>(random.next());
  tensors_ = {{"words", ElementType::u64, {words_.size()}, words_.data()},
              {"bytes", ElementType::u8, {1, bytes_.size()}, bytes_.data()},
              {"none", ElementType::f32, {0, 4}, nullptr}};
}

std::string StateOf::flaw_in(const SavedState& saved) const {
  if (saved.text != text_) return "its text is \"" + saved.text.substr(0, 40) + "\", not \"" + text_ + "\"";
  if (saved.tensors.size() != tensors_.size()) return "it has " + std::to_string(saved.tensors.size()) + " tensors";
  const std::uint64_t bytes[] = {words_.size() * 8, bytes_.size(), 0};
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const SavedTensor& found = saved.tensors[i];
    const TensorView& wanted = tensors_[i];
    if (found.name != wanted.name || found.element != wanted.element || found.shape != wanted.shape ||
        found.bytes != bytes[i]) {
      return "its tensor " + wanted.name + " has another type or shape";
    }
    if (bytes[i] != 0 && std::memcmp(found.data, wanted.data, bytes[i]) != 0) return "its " + wanted.name + " differ";
  }
  return {};
}

}  // namespace holdfast::proof::kill
