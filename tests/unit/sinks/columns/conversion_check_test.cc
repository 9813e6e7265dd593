#include "sinks/columns/conversion_check.h"

#include <gtest/gtest.h>

#include "sinks/columns/declared_table.h"

// A namespace with a name: files of tests are compiled together.
namespace onceward::conversion_checks {

using Kind = Conversion::Kind;

Conversion step(Kind kind) { return {.kind = kind}; }
Conversion cast(CastTarget to) { return {.kind = Kind::cast, .cast = to}; }

ColumnOptions column(std::vector<Conversion> steps, Lossy lossy = Lossy::refuse) {
    return {.name = "c",
            .source = {FieldSource::Kind::field, "/c"},
            .conversion = {.steps = std::move(steps), .lossy = lossy}};
}

std::string first_fault(const ColumnOptions& column, const char* type) {
    const auto faults = type_faults(column, declared_type(type));
    return faults.empty() ? "" : faults[0];
}

TEST(ConversionCheck, ATypeThatTakesNothingOfWhatAStepMakesIsNamed) {
    EXPECT_NE(first_fault(column({step(Kind::epoch_days)}), "time"), "");
    EXPECT_NE(first_fault(column({step(Kind::epoch_millis)}), "integer"), "");
    EXPECT_NE(first_fault(column({step(Kind::base64)}), "jsonb"), "");
    EXPECT_NE(first_fault(column({step(Kind::base64_decimal)}), "boolean"), "");
    EXPECT_NE(first_fault(column({cast(CastTarget::timestamptz)}), "date"), "");
    EXPECT_EQ(first_fault(column({step(Kind::epoch_days)}), "date"), "");
    EXPECT_EQ(first_fault(column({step(Kind::epoch_millis)}), "time"), "");
    EXPECT_EQ(first_fault(column({step(Kind::base64_decimal)}), "numeric(12,2)"), "");
}

TEST(ConversionCheck, LossyIsRefusedWhereNothingCanBeLost) {
    EXPECT_NE(first_fault(column({}, Lossy::round), "text"), "");
    EXPECT_NE(first_fault(column({}, Lossy::round), "real"), "");
    EXPECT_NE(first_fault(column({}, Lossy::round), "numeric"), "");
    EXPECT_NE(first_fault(column({step(Kind::epoch_millis)}, Lossy::round), "date"), "");
    EXPECT_EQ(first_fault(column({step(Kind::epoch_millis)}, Lossy::truncate), "date"), "");
    EXPECT_EQ(first_fault(column({}, Lossy::round), "numeric(12,2)[]"), "");
    EXPECT_EQ(first_fault(column({cast(CastTarget::integer)}, Lossy::round), "text"), "");
    EXPECT_NE(document_fault(column({}, Lossy::round)), "");
    EXPECT_NE(document_fault(column({step(Kind::base64)})), "");
    EXPECT_EQ(header_fault(column({step(Kind::base64)})), "");
}

TEST(ConversionCheck, ConstantsHaveToFitTheColumn) {
    ColumnOptions with_default = column({});
    with_default.conversion.fallback = ConstantValue{Value::Kind::text, "many"};
    EXPECT_NE(first_fault(with_default, "integer"), "");
    EXPECT_NE(first_fault(with_default, "jsonb"), "");
    EXPECT_EQ(first_fault(with_default, "text"), "");
    Conversion map = step(Kind::map);
    map.map = {{"a", {Value::Kind::number, "1.005"}}};
    EXPECT_NE(first_fault(column({map}), "numeric(12,2)"), "");
    EXPECT_EQ(first_fault(column({map}), "numeric(12,3)"), "");
}

TEST(ConversionCheck, StepsThatCannotFollowEachOtherAreNamed) {
    EXPECT_NE(order_fault(column({step(Kind::epoch_millis), step(Kind::trim)})), "");
    EXPECT_NE(order_fault(column({step(Kind::base64_decimal), step(Kind::base64)})), "");
    EXPECT_EQ(order_fault(column({step(Kind::trim), step(Kind::epoch_millis)})), "");
    EXPECT_EQ(order_fault(column({step(Kind::epoch_millis), cast(CastTarget::text),
                                  step(Kind::lower)})),
              "");
    ColumnOptions record_time = column({step(Kind::epoch_millis)});
    record_time.source = {FieldSource::Kind::metadata, "timestamp"};
    EXPECT_NE(order_fault(record_time), "");
}

TEST(ConversionCheck, EachNameIsOfOneKind) {
    EXPECT_EQ(conversion_names[static_cast<std::size_t>(Kind::json)], "json");
    EXPECT_EQ(conversion_names[static_cast<std::size_t>(Kind::cast)], "cast");
    EXPECT_EQ(cast_names[static_cast<std::size_t>(CastTarget::timestamptz)], "timestamptz");
    EXPECT_EQ(lossy_names[static_cast<std::size_t>(Lossy::truncate)], "truncate");
}

}  // namespace onceward::conversion_checks
