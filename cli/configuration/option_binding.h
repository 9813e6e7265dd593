#pragma once
// Binds an option to the member that its value goes into: the member's type is the option's type,
// and says how the value is converted. For the table of options alone. Pure.

#include <cstdlib>
#include <optional>
#include <type_traits>

#include "cli/configuration/option.h"

namespace onceward {

// As the rows of the table call them.
using To = OptionTarget;
using In = OptionValue;

// Limits of durations.
inline constexpr std::int64_t second = 1000;
inline constexpr std::int64_t hour = 3600 * second;
inline constexpr std::int64_t day = 24 * hour;

// The option's type, unless the row says that it is a choice or a size.
constexpr OptionType type_of(const std::string*) { return OptionType::text; }
constexpr OptionType type_of(const Secret*) { return OptionType::secret; }
constexpr OptionType type_of(const double*) { return OptionType::number; }
constexpr OptionType type_of(const DailyHours*) { return OptionType::hours; }
constexpr OptionType type_of(const std::vector<std::string>*) { return OptionType::texts; }
constexpr OptionType type_of(const std::vector<int>*) { return OptionType::texts; }
constexpr OptionType type_of(const PropertyMap*) { return OptionType::properties; }
constexpr OptionType type_of(const HeaderList*) { return OptionType::headers; }
constexpr OptionType type_of(const std::vector<std::pair<std::string, std::string>>*) {
    return OptionType::attributes;
}
constexpr OptionType type_of(const StartPosition*) { return OptionType::start; }
constexpr OptionType type_of(const std::vector<KeySource>*) { return OptionType::key_sources; }
constexpr OptionType type_of(const FieldSource*) { return OptionType::source; }
constexpr OptionType type_of(const std::vector<ColumnOptions>*) { return OptionType::columns; }
constexpr OptionType type_of(const FingerprintOptions*) { return OptionType::fingerprint; }
constexpr OptionType type_of(const MintedSource*) { return OptionType::minted; }
template <class Rep, class Period>
constexpr OptionType type_of(const std::chrono::duration<Rep, Period>*) {
    return OptionType::duration;
}
template <class Member>
requires std::is_integral_v<Member>
constexpr OptionType type_of(const Member*) { return OptionType::integer; }
template <class Member>
constexpr OptionType type_of(const std::optional<Member>*) {
    return type_of(static_cast<const Member*>(nullptr));
}

// As it was read, unless one of the following converts it.
template <class Member>
void store(Member& member, const OptionValue& value) {
    member = std::get<Member>(value);
}
template <class Member>
requires std::is_integral_v<Member>
void store(Member& member, const OptionValue& value) {
    member = static_cast<Member>(std::get<std::int64_t>(value));
}
template <class Member>
requires std::is_enum_v<Member>
void store(Member& member, const OptionValue& value) {
    member = static_cast<Member>(std::get<Choice>(value).index);
}
template <class Rep, class Period>
void store(std::chrono::duration<Rep, Period>& member, const OptionValue& value) {
    member = std::chrono::duration_cast<std::chrono::duration<Rep, Period>>(
        std::chrono::milliseconds(std::get<std::int64_t>(value)));
}
inline void store(std::string& member, const OptionValue& value) {
    const auto* const choice = std::get_if<Choice>(&value);
    member = choice != nullptr ? choice->name : std::get<std::string>(value);
}
// The second of two choices is true.
inline void store(bool& member, const OptionValue& value) {
    member = std::get<Choice>(value).index == 1;
}
inline void store(Secret& member, const OptionValue& value) {
    member = Secret(std::get<std::string>(value));
}
inline void store(HeaderList& member, const OptionValue& value) {
    const auto& headers = std::get<PropertyMap>(value);
    member.assign(headers.begin(), headers.end());
}
inline void store(std::vector<std::pair<std::string, std::string>>& member,
                  const OptionValue& value) {
    member.clear();
    for (const auto& [name, text] : std::get<PropertyMap>(value)) {
        member.emplace_back(name, text.reveal());
    }
}
// Statuses; a text that is none becomes a number that the checks refuse.
inline void store(std::vector<int>& member, const OptionValue& value) {
    member.clear();
    for (const std::string& text : std::get<std::vector<std::string>>(value)) {
        member.push_back(static_cast<int>(std::strtol(text.c_str(), nullptr, 10)));
    }
}
template <class Member>
void store(std::optional<Member>& member, const OptionValue& value) {
    store(member.emplace(), value);
}

// `Find` returns the member within the target, or null if there is nothing to store it in.
template <class Find>
void store_at(OptionTarget& to, const OptionValue& value) {
    auto* const member = Find{}(to);
    if (member != nullptr) store(*member, value);
}

template <class Find>
OptionBinding into(Find, OptionLimits limits = {}) {
    using Member = std::remove_pointer_t<std::invoke_result_t<Find, OptionTarget&>>;
    return {type_of(static_cast<const Member*>(nullptr)), store_at<Find>, {}, limits};
}

// The same for one of these choices.
template <class Find>
OptionBinding into(Find, std::initializer_list<std::string_view> choices) {
    return {OptionType::choice, store_at<Find>, choices};
}

// The same for a number of bytes.
template <class Find>
OptionBinding into_size(Find, OptionLimits limits = {}) {
    return {OptionType::size, store_at<Find>, {}, limits};
}

}  // namespace onceward
