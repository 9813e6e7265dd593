#include "cli/proposal/field_evidence.h"

#include <algorithm>
#include <memory_resource>

#include "consumer/intake/key_options.h"
#include "dedup/base/text.h"
#include "sinks/columns/decimal.h"

namespace onceward {
namespace {

// The types that values alone may lead to.
constexpr const char* guessable_types[] = {"bigint",      "numeric",   "double precision",
                                           "boolean",     "date",      "timestamptz",
                                           "timestamp",   "text",      "jsonb",
                                           "json",        "bytea"};

std::optional<std::int64_t> whole_value(const Value& value) {
    if (value.kind == Value::Kind::integer) return value.integer;
    if (value.kind != Value::Kind::number) return std::nullopt;
    return number_of<std::int64_t>(value.text);  // `1.0` and `1e3` are not meant as counts
}

}  // namespace

FieldEvidence::FieldEvidence(std::optional<TypeChoice> declared, bool as_key,
                             Provenance provenance)
    : as_key_(as_key) {
    for (const char* const type : guessable_types) {
        trials_.push_back({TypeTrial({type}, provenance)});
    }
    if (declared) trials_.push_back({TypeTrial(std::move(*declared), provenance)});
}

void FieldEvidence::take(const Value& value) {
    using Kind = Value::Kind;
    switch (value.kind) {
        case Kind::absent: ++absent_; return;
        case Kind::null: ++nulls_; return;
        case Kind::boolean: ++kinds_.booleans; break;
        case Kind::real: ++kinds_.reals; [[fallthrough]];
        case Kind::integer:
        case Kind::natural:
        case Kind::number: ++kinds_.numbers; break;
        case Kind::text: ++kinds_.texts; break;
        case Kind::bytes: ++kinds_.bytes; break;
        case Kind::json:
            ++kinds_.documents;
            if (value.text.starts_with('[')) ++kinds_.arrays;
            break;
        case Kind::timestamp: ++kinds_.times; break;
    }
    uuids_ = uuids_ && value.kind == Kind::text && is_uuid(value.text);
    if (const auto whole = whole_value(value)) {
        ++whole_;
        range_ = {std::min(range_.least, *whole), std::max(range_.most, *whole)};
    }
    for (Trial& trial : trials_) trial.fits = trial.fits && trial.trial.takes(value);
    if (as_key_) count_key(value);
}

void FieldEvidence::count_key(const Value& value) {
    std::pmr::monotonic_buffer_resource arena;
    const KeyText key = key_text(value, arena);
    if (key.status != KeyText::Status::found || key_fault(key.text, {}) != nullptr) return;
    ++keyed_;
    keys_.emplace(key.text);
}

bool FieldEvidence::fits(const TypeChoice& choice) const {
    return std::ranges::any_of(trials_, [&](const Trial& trial) {
        return trial.fits && trial.trial.choice() == choice;
    });
}

std::optional<FieldEvidence::Range> FieldEvidence::whole_numbers() const {
    if (whole_ == 0 || whole_ != kinds_.all()) return std::nullopt;
    return range_;
}

}  // namespace onceward
