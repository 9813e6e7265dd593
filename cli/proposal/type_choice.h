#pragma once
// A column's type and the conversions before it, as they could be proposed, and whether they take a
// value. The sink's own parts judge that, so that a worker would do what is proposed. Plain values
// and pure functions; a trial belongs to one thread.

#include <string>
#include <vector>

#include "sinks/columns/catalog.h"
#include "sinks/columns/conversion.h"

namespace onceward {

struct TypeChoice {
    std::string type;  // PostgreSQL's name
    std::vector<Conversion> steps{};
    friend bool operator==(const TypeChoice&, const TypeChoice&) = default;
};

// As the configuration writes them after `convert:`; '' without any. REQUIRES: no step is a `map`.
std::string steps_text(const std::vector<Conversion>& steps);

class TypeTrial {
  public:
    // REQUIRES: the type is one that declared_type() knows.
    explicit TypeTrial(TypeChoice choice, Provenance provenance = Provenance::field);
    const TypeChoice& choice() const { return choice_; }
    // Whether a column of the type takes it. NULL and what is absent fit everywhere.
    bool takes(const Value& value);

  private:
    TypeChoice choice_;
    Provenance provenance_;
    ColumnType type_;
    ColumnConversion conversion_;
    std::string room_;
};

}  // namespace onceward
