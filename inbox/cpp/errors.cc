#include "inbox/cpp/errors.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace onceward::pqxx {
namespace {

constexpr std::array<std::pair<const char*, Refusal>, 8> refusals{
    {{"OW001", Refusal::isolation},
     {"OW002", Refusal::ledger},
     {"OW003", Refusal::not_allowed},
     {"OW004", Refusal::argument},
     {"OW005", Refusal::unfinished},
     {"OW006", Refusal::not_claimed},
     {"OW007", Refusal::result_too_large},
     {"55P03", Refusal::busy}}};

const char* sqlstate_of(Refusal why) {
    const auto* const found =
        std::ranges::find(refusals, why, [](const auto& one) { return one.second; });
    return found == refusals.end() ? "" : found->first;
}

}  // namespace

Refused::Refused(Refusal why, const ::pqxx::sql_error& error)
    : ::pqxx::sql_error(error.what(), error.query(), error.sqlstate().c_str()), why_(why) {}

Refused::Refused(Refusal why, const std::string& what)
    : ::pqxx::sql_error(what, "", sqlstate_of(why)), why_(why) {}

void rethrow(const ::pqxx::sql_error& error) {
    for (const auto& [sqlstate, why] : refusals) {
        if (error.sqlstate() == sqlstate) throw Refused(why, error);
    }
    throw;
}

bool wants_another_try(const ::pqxx::sql_error& error) noexcept {
    static constexpr std::array<std::string_view, 8> states{
        "40001", "40P01", "55P03", "25P03", "57P01", "57P02", "57P03", "57P05"};
    const std::string_view state = error.sqlstate();
    return state.starts_with("08") || std::ranges::find(states, state) != states.end();
}

}  // namespace onceward::pqxx
