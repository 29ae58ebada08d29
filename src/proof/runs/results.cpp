// results.cpp: machine, commit and date of a test run, and its counts, as JSON.
#include "proof/runs/results.hpp"

#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace holdfast::proof {
namespace {

std::string first_line_of(const char* command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command, "r"), pclose);
  std::array<char, 256> line{};
  if (!pipe || !std::fgets(line.data(), line.size(), pipe.get())) return "";
  std::string text = line.data();
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

std::string object(const Results::Row& row) {
  std::string text;
  for (const auto& [name, count] : row)
    text += (text.empty() ? "" : ", ") + quoted(name) + ": " + std::to_string(count);
  return "{" + text + "}";
}

/// The first two words of the processor's name, in lower case, joined by dashes: "AMD EPYC 7763" is "amd-epyc".
std::string processor() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::string first, second;
    words >> first >> second;
    std::string name;
    for (const char c : first.substr(0, first.find('(')) + "-" + second.substr(0, second.find('('))) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return name;
  }
  return "cpu";
}

/// The commit: HOLDFAST_COMMIT, as where there is no git, or git's word.
std::string commit_name() {
  if (const char* name = std::getenv("HOLDFAST_COMMIT"); name != nullptr && *name != 0) return name;
  return first_line_of("git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null");
}

}  // namespace

std::string machine_name() {
  if (const char* name = std::getenv("HOLDFAST_MACHINE"); name != nullptr && *name != 0) return name;
  return processor() + "-" + std::to_string(std::thread::hardware_concurrency()) + "c";
}

Results::Results(std::string schema) {
  const std::time_t now = std::time(nullptr);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  add("schema", schema);
  add("machine", machine_name());
  add("commit", commit_name());
  add("date", std::string(date.data()));
}

void Results::add(const std::string& field, std::uint64_t value) { fields_.emplace_back(field, std::to_string(value)); }

void Results::add(const std::string& field, double value) {
  std::ostringstream text;
  text.precision(6);
  text << value;
  fields_.emplace_back(field, text.str());
}

void Results::add(const std::string& field, const std::string& value) { fields_.emplace_back(field, quoted(value)); }

void Results::add(const std::string& field, const Row& row) { fields_.emplace_back(field, object(row)); }

void Results::add(const std::string& field, const std::vector<std::pair<std::string, Row>>& rows) {
  std::string text;
  for (const auto& [name, row] : rows)
    text += (text.empty() ? "\n    " : ",\n    ") + quoted(name) + ": " + object(row);
  fields_.emplace_back(field, "{" + text + "\n  }");
}

void Results::add(const Results& more) { fields_.insert(fields_.end(), more.fields_.begin(), more.fields_.end()); }

void Results::add(const std::string& field, const Results& of_one) {
  std::string text = of_one.text();
  text.pop_back();  // the end of the last line
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
    text.insert(at + 1, "  ");
  fields_.emplace_back(field, std::move(text));
}

std::string Results::text() const {
  std::string out = "{\n";
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    out += "  " + quoted(fields_[i].first) + ": " + fields_[i].second + (i + 1 < fields_.size() ? ",\n" : "\n");
  }
  return out + "}\n";
}

std::string Results::write(const std::string& folder, const std::string& file) const {
  const std::filesystem::path path = std::filesystem::path(folder) / file;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path);
  out << text();
  out.flush();
  if (!out) throw std::runtime_error("cannot write " + path.string() + "; is the folder writable?");
  return path.string();
}

}  // namespace holdfast::proof
