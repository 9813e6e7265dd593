#pragma once
// Whole numbers that are points in time, by what the field is called and by their range. A guess,
// which a proposal names as one. Pure.

#include <optional>
#include <string>

#include "cli/proposal/field_evidence.h"

namespace onceward {

// Whether people call a point in time so: `created_at`, `paidAt`, `ts`, `event_time`, `timestamp`.
bool names_a_time(const std::string& field);

// The unit in which all numbers of the range are between 1990 and 2100. Zero is not among them: it
// is what many write for a time that is not known, and stays a number.
std::optional<Conversion::Kind> epoch_unit(FieldEvidence::Range range);

}  // namespace onceward
