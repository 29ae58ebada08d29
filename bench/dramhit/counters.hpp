// counters.hpp: what the processor counts of one thread, where the kernel lets us ask: virtual machines as a rule have none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace holdfast::bench::dramhit {

/// Of the thread that makes it. Without counters it does nothing, and `counted` is empty.
class Counters {
 public:
  Counters();
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  void start();
  void stop();
  /// By name: between all starts and stops so far.
  std::map<std::string, double> counted() const;

 private:
  struct One {
    std::string name;
    int file;
  };
  std::vector<One> open_;
};

}  // namespace holdfast::bench::dramhit
