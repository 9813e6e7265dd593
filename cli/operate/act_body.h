#pragma once
// The JSON object that says what an act has to do. Each member is read once, and a member that
// nobody has read is refused, so that a misspelled limit is not ignored. Used by one thread.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace onceward {

// Ends an act: the status of its answer, and a sentence.
class ActRefused : public std::runtime_error {
  public:
    ActRefused(int status, const std::string& detail)
        : std::runtime_error(detail), status_(status) {}
    int status() const { return status_; }

  private:
    int status_;
};

// Each function throws ActRefused (400) if the member has another type or is out of range.
// DANGER: also if it is there and empty. What is left out selects everything: a filter that was
// calculated, and that found nothing, must not delete everything.
class ActBody {
  public:
    explicit ActBody(const std::string& text);
    // '' if it is left out.
    std::string text(const char* name);
    // It must be there, and not be empty.
    std::string needed(const char* name);
    bool flag(const char* name, bool otherwise);
    std::int64_t number(const char* name, std::int64_t otherwise, std::int64_t most);
    std::optional<double> rate(const char* name);
    // Empty if it is left out.
    std::vector<std::string> texts(const char* name);
    std::vector<std::int64_t> numbers(const char* name);
    // After everything was read. Throws ActRefused (400) for a member that nobody has asked for.
    void end() const;
    // On one line, for the audit log.
    std::string line() const;

  private:
    const nlohmann::json* find(const char* name);
    nlohmann::json json_;
    std::set<std::string> read_;
};

}  // namespace onceward
