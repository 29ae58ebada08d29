// results.hpp: writes what a long test run counted as JSON, with machine, commit and date, for bench/results/.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::proof {

/// The name of this machine: HOLDFAST_MACHINE, or processor and number of cores, such as "amd-epyc-2c".
std::string machine_name();

/// A JSON object that keeps the order in which fields were added.
class Results {
 public:
  Results() = default;  ///< fields to add to others
  explicit Results(std::string schema);
  void add(const std::string& field, std::uint64_t value);
  void add(const std::string& field, double value);
  void add(const std::string& field, const std::string& value);
  /// Counts by name, and rows of them.
  using Row = std::vector<std::pair<std::string, std::uint64_t>>;
  void add(const std::string& field, const Row& row);
  void add(const std::string& field, const std::vector<std::pair<std::string, Row>>& rows);
  void add(const Results& more);  ///< its fields, behind those that there are
  void add(const std::string& field, const Results& of_one);
  /// Writes `<folder>/<file>`; makes the folder. Returns the path. Throws std::runtime_error.
  std::string write(const std::string& folder, const std::string& file) const;
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace holdfast::proof
