// result_writer.hpp: writes results one after another, with what that needs in registers: a word that is stored for the caller might be
// any of it.
#pragma once

#include "structures/dramhit/lane.hpp"
#include "structures/dramhit/protocol/slot_change.hpp"

namespace holdfast::dramhit {

/// `kPlain`: the results are, and values are words (Results::is_plain, Form::gives_words). Otherwise results of any kind.
template <class Form, bool kPlain>
class ResultWriter {
 public:
  ResultWriter(Results& results, const Form& form) : results_(results), form_(form) {}
  ~ResultWriter() { results_.size = size_; }
  ResultWriter(const ResultWriter&) = delete;
  ResultWriter& operator=(const ResultWriter&) = delete;

  /// Writes the next result.
  [[gnu::always_inline]] void give(std::uint64_t id, const Answer& answer) {
    const std::size_t row = kPlain || ids_ != nullptr ? size_++ : id;
    if (kPlain || ids_ != nullptr) ids_[row] = id;
    if (kPlain || statuses_ != nullptr) statuses_[row] = answer.status;
    if (kPlain || (out_ != nullptr && form_.gives_words())) {
      __builtin_memcpy(out_ + row * 8, &answer.value, 8);
    } else if (out_ != nullptr) {
      form_.copy_value(answer, out_, row);
    }
    if (!kPlain && results_.found != nullptr) {
      const Status status = answer.status;
      results_.found[row] =
          status == Status::found || status == Status::exists || status == Status::updated || status == Status::erased;
    }
  }

  std::size_t space() const { return kPlain || ids_ != nullptr ? results_.space - size_ : ~std::size_t{0}; }
  /// The results so far. A caller that writes to them calls `resume` after.
  Results& results() {
    results_.size = size_;
    return results_;
  }
  void resume() { size_ = results_.size; }
  std::uint64_t* counts() { return results_.count; }

 private:
  Results& results_;
  const Form& form_;
  std::uint64_t* const ids_ = results_.ids;
  std::byte* const out_ = results_.out;
  Status* const statuses_ = results_.statuses;
  std::size_t size_ = results_.size;
};

}  // namespace holdfast::dramhit
