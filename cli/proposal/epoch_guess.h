#pragma once
// Whole numbers that are points in time, judged by the field's name and by their range. A guess,
// which a proposal names as one. Pure.

#include <optional>
#include <string>

#include "cli/proposal/field_evidence.h"

namespace onceward {

// Whether a field with such a name is a point in time: `created_at`, `paidAt`, `ts`, `event_time`,
// `timestamp`.
bool names_a_time(const std::string& field);

// The unit in which all numbers of the range are between 1990 and 2100. Zero is not between them:
// many write it for a time that is not known, and it stays a number.
std::optional<Conversion::Kind> epoch_unit(FieldEvidence::Range range);

}  // namespace onceward
