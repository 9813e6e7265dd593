#include "cli/proposal/column_choice.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/proposal/epoch_guess.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

constexpr std::size_t longest_identifier = 63;  // bytes; PostgreSQL cuts off the rest

// Each table has them already.
constexpr std::array<std::string_view, 6> system_columns = {"ctid", "xmin",     "xmax",
                                                            "cmin", "tableoid", "cmax"};

void add_kind(std::size_t count, const char* kind, std::string& text) {
    if (count == 0) return;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
}

std::string kinds_text(const KindCounts& kinds) {
    std::string text;
    add_kind(kinds.numbers, "numbers", text);
    add_kind(kinds.booleans, "booleans", text);
    add_kind(kinds.texts, "texts", text);
    add_kind(kinds.bytes, "byte strings", text);
    add_kind(kinds.documents - kinds.arrays, "objects", text);
    add_kind(kinds.arrays, "arrays", text);
    add_kind(kinds.times, "times", text);
    return text;
}

bool one_kind(const KindCounts& kinds) {
    const std::size_t all = kinds.all();
    return all == kinds.numbers || all == kinds.booleans || all == kinds.texts ||
           all == kinds.bytes || all == kinds.documents || all == kinds.times;
}

// The first of these types that takes all values; empty if there is none.
TypeChoice first_fit(const FieldEvidence& evidence, std::initializer_list<const char*> types) {
    for (const char* const type : types) {
        if (evidence.fits({type})) return {type};
    }
    return {};
}

void choose_mixed(const FieldEvidence& evidence, ColumnChoice& chosen) {
    chosen.notes.push_back("has values of different kinds: " + kinds_text(evidence.kinds()));
    chosen.choice = evidence.kinds().documents > 0 ? first_fit(evidence, {"jsonb", "json"})
                                                   : first_fit(evidence, {"text", "bytea"});
}

void choose_number(const std::string& field, const FieldEvidence& evidence, ColumnChoice& chosen) {
    const auto range = evidence.whole_numbers();
    if (range && names_a_time(field)) {
        if (const auto unit = epoch_unit(*range)) {
            chosen.choice = {"timestamptz", {{.kind = *unit}}};
            chosen.notes.push_back(
                "has whole numbers from " + std::to_string(range->least) + " to " +
                std::to_string(range->most) + ", which by its name and their range are times: `" +
                std::string(name_of(chosen.choice.steps[0])) +
                "` is a guess. If they are none, take `bigint` and no `convert`");
            return;
        }
    }
    chosen.choice = evidence.kinds().reals > 0 ? first_fit(evidence, {"double precision"})
                                               : first_fit(evidence, {"bigint", "numeric", "text"});
}

void choose_text(const FieldEvidence& evidence, ColumnChoice& chosen) {
    if (evidence.uuids()) {
        chosen.choice = {"uuid"};
        return;
    }
    chosen.choice = first_fit(evidence, {"timestamptz", "date", "text"});
    if (chosen.choice.type == "text" && evidence.fits({"timestamp"})) {
        chosen.notes.push_back(
            "has times without an offset from UTC, so they are no points in time and stay text; "
            "`timestamp` takes them too");
    }
}

void choose_document(const FieldEvidence& evidence, ColumnChoice& chosen) {
    chosen.choice = first_fit(evidence, {"jsonb", "json"});
    if (chosen.choice.type == "json") {
        chosen.notes.emplace_back("holds the character U+0000, which `jsonb` refuses");
    }
    const KindCounts& kinds = evidence.kinds();
    chosen.notes.push_back(
        kinds.arrays == 0 ? "has objects; a path to a member of them can be a column of its own"
        : kinds.arrays == kinds.documents
            ? "has arrays, which stay one value: no rows are made of their items"
            : "has objects and arrays: " + kinds_text(kinds));
}

void choose_by_values(const std::string& field, const FieldEvidence& evidence,
                      ColumnChoice& chosen) {
    const KindCounts& kinds = evidence.kinds();
    if (kinds.all() == 0) {
        chosen.choice = {"text"};
        chosen.notes.push_back("has no value in the sample, so its type is not known");
    } else if (!one_kind(kinds)) {
        choose_mixed(evidence, chosen);
    } else if (kinds.numbers > 0) {
        choose_number(field, evidence, chosen);
    } else if (kinds.booleans > 0) {
        chosen.choice = {"boolean"};
    } else if (kinds.texts > 0) {
        choose_text(evidence, chosen);
    } else if (kinds.documents > 0) {
        choose_document(evidence, chosen);
    } else if (kinds.times > 0) {
        chosen.choice = first_fit(evidence, {"timestamptz", "text"});
        if (chosen.choice.type == "text") {
            chosen.notes.push_back(
                "has times finer than a microsecond, which `timestamptz` takes with `lossy: round` "
                "only");
        }
    } else {
        chosen.choice = {"bytea"};
    }
}

// Whether the schema's type takes what came. The decoder has read the value by the schema already.
bool take_declared(const DeclaredField& declared, const FieldEvidence& evidence,
                   ColumnChoice& chosen) {
    if (evidence.kinds().all() == 0 || evidence.fits(declared.choice)) {
        chosen.choice = declared.choice;
        return true;
    }
    chosen.notes.push_back("is `" + declared.choice.type +
                           "` by the schema, which does not take all values of the sample: " +
                           kinds_text(evidence.kinds()));
    return false;
}

}  // namespace

ColumnChoice choose_column(const std::string& field, const DeclaredField* declared,
                           const FieldEvidence& evidence) {
    ColumnChoice chosen;
    const bool missing = evidence.absent() + evidence.nulls() > 0;
    if (declared != nullptr && !declared->note.empty()) chosen.notes.push_back(declared->note);
    const bool typed = declared != nullptr && !declared->choice.type.empty();
    if (!typed || !take_declared(*declared, evidence, chosen)) {
        choose_by_values(field, evidence, chosen);
    }
    // NOT NULL only if the schema says so; a sample cannot promise it.
    chosen.required = declared != nullptr && declared->required && !missing;
    if (declared != nullptr && declared->required && missing) {
        chosen.notes.push_back("always has a value by the schema, and has none in " +
                               std::to_string(evidence.absent() + evidence.nulls()) +
                               " records of the sample");
    }
    if (declared == nullptr && evidence.absent() > 0) {
        chosen.notes.push_back("is missing in " + std::to_string(evidence.absent()) + " of " +
                               std::to_string(evidence.records()) + " records");
    }
    if (chosen.choice.type.empty()) {
        chosen.notes.emplace_back("has values that no type takes, so there is no column for it");
    }
    return chosen;
}

std::string column_name(const std::string& field, std::vector<std::string>& taken) {
    std::string name = field;
    const bool printable = safe_text(field, LineBreaks::escaped) == field;
    if (!printable || field.empty() || field.size() > longest_identifier) {
        name.clear();
        for (const char letter : field.substr(0, longest_identifier)) {
            const bool plain = letter > ' ' && letter < '\x7f';
            name += plain ? letter : '_';
        }
        if (name.empty()) name = "column";
    }
    if (std::ranges::find(system_columns, std::string_view(name)) != system_columns.end()) {
        name += '_';
    }
    const std::string base = name;
    for (int number = 2; std::ranges::find(taken, name) != taken.end(); ++number) {
        const std::string suffix = "_" + std::to_string(number);
        name = base.substr(0, longest_identifier - suffix.size());
        name.resize(name.size() - incomplete_tail(name));
        name += suffix;
    }
    taken.push_back(name);
    return name;
}

}  // namespace onceward
