#pragma once
// What a sample says of one field: which kinds of values it has, and which types take all of them.
// Pure; belongs to one thread.

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/proposal/type_choice.h"
#include "dedup/message/value.h"

namespace onceward {

struct KindCounts {
    std::size_t numbers = 0;
    std::size_t reals = 0;  // of these, floating-point ones
    std::size_t booleans = 0;
    std::size_t texts = 0;
    std::size_t bytes = 0;
    std::size_t documents = 0;
    std::size_t arrays = 0;  // of these, arrays
    std::size_t times = 0;
    std::size_t all() const { return numbers + booleans + texts + bytes + documents + times; }
};

// The keys that a field, a header or the record's key would give.
struct KeyCounts {
    std::size_t found = 0;
    std::size_t distinct = 0;
};

class FieldEvidence {
  public:
    // `declared`: what a schema says of it. `as_key`: its values are counted as keys too.
    explicit FieldEvidence(std::optional<TypeChoice> declared = std::nullopt, bool as_key = false,
                           Provenance provenance = Provenance::field);
    // Call it once for each record, even if the field is absent.
    void take(const Value& value);

    const KindCounts& kinds() const { return kinds_; }
    std::size_t absent() const { return absent_; }
    std::size_t nulls() const { return nulls_; }
    std::size_t records() const { return absent_ + nulls_ + kinds_.all(); }
    KeyCounts keys() const { return {keyed_, keys_.size()}; }
    // Whether all are UUIDs of 36 characters. The type takes other forms too, which are seldom
    // meant.
    bool uuids() const { return uuids_; }
    // Whether the type takes each value. REQUIRES: the type is declared, or one of
    // guessable_types(), without conversions.
    bool fits(const TypeChoice& choice) const;
    // The whole numbers' range; nullopt if there is another value, or none.
    struct Range {
        std::int64_t least;
        std::int64_t most;
    };
    std::optional<Range> whole_numbers() const;

  private:
    void count_key(const Value& value);

    struct Trial {
        TypeTrial trial;
        bool fits = true;
    };
    std::vector<Trial> trials_;
    KindCounts kinds_;
    std::size_t absent_ = 0;
    std::size_t nulls_ = 0;
    bool uuids_ = true;
    bool as_key_;
    std::size_t keyed_ = 0;
    std::set<std::string> keys_;
    std::size_t whole_ = 0;
    Range range_{std::numeric_limits<std::int64_t>::max(),
                 std::numeric_limits<std::int64_t>::min()};
};

}  // namespace onceward
