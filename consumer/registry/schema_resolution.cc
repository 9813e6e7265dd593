#include "consumer/registry/schema_resolution.h"

#include <algorithm>
#include <map>
#include <utility>

#include "dedup/base/expects.h"

namespace onceward {
namespace {

using Kind = RegistryAnswer::Kind;

std::string text_of(const SchemaReference& reference) {
    return "`" + reference.name + "` (subject " + reference.subject + ", version " +
           std::to_string(reference.version) + ")";
}

// One schema from one address.
class Walk {
  public:
    Walk(const std::string& address, const RegistryGet& get, const ResolutionLimits& limits,
         const std::stop_token& stop)
        : address_(address), get_(get), limits_(limits), stop_(stop) {}

    Resolution run(const SchemaId& id) {
        RegistryAnswer answer = ask(schema_path(id));
        if (answer.kind != Kind::found) return fault(std::move(answer));
        auto schema = std::make_shared<WrittenSchema>();
        schema->language = answer.language;
        schema->text = std::move(answer.text);
        if (std::optional<Resolution> wrong = follow(answer.references)) return *wrong;
        schema->references = std::move(found_);
        return {Kind::found, std::move(schema)};
    }

  private:
    using Place = std::pair<std::string, int>;  // subject and version

    static Resolution fault(RegistryAnswer answer) {
        return {answer.kind, nullptr, std::move(answer.reason), answer.retry_after};
    }
    static Resolution refused(std::string reason) {
        return {Kind::refused, nullptr, std::move(reason)};
    }

    RegistryAnswer ask(const std::string& path) {
        RegistryAnswer answer = read_answer(get_(address_ + path, stop_));
        bytes_ += answer.text.size();
        if (answer.kind != Kind::found || bytes_ <= limits_.bytes) return answer;
        return {.kind = Kind::refused,
                .reason = "has it with more than " + std::to_string(limits_.bytes) + " bytes"};
    }

    // Depth first, so that a reference is listed before those that refer to it.
    std::optional<Resolution> follow(const std::vector<SchemaReference>& references) {
        for (const SchemaReference& reference : references) {
            if (std::optional<Resolution> wrong = visit(reference)) return wrong;
        }
        return std::nullopt;
    }

    std::optional<Resolution> visit(const SchemaReference& reference) {
        const Place place{reference.subject, reference.version};
        if (std::ranges::find(open_, place) != open_.end()) {
            return refused("has it with references in a circle, at " + text_of(reference));
        }
        const auto [known, added] = names_.emplace(reference.name, place);
        if (!added && known->second == place) return std::nullopt;
        if (!added) {
            return refused("has it with two references of one name, the second being " +
                           text_of(reference));
        }
        if (open_.size() >= limits_.depth || names_.size() > limits_.references) {
            return refused("has it with too many references, at " + text_of(reference));
        }
        RegistryAnswer answer = ask(reference_path(reference));
        if (answer.kind == Kind::unknown) {
            return refused("has it without its reference " + text_of(reference));
        }
        if (answer.kind != Kind::found) return fault(std::move(answer));
        open_.push_back(place);
        if (std::optional<Resolution> wrong = follow(answer.references)) return wrong;
        open_.pop_back();
        found_.push_back({reference.name, std::move(answer.text)});
        return std::nullopt;
    }

    const std::string& address_;
    const RegistryGet& get_;
    const ResolutionLimits& limits_;
    const std::stop_token& stop_;
    std::vector<WrittenSchema::Reference> found_;
    std::map<std::string, Place> names_;
    std::vector<Place> open_;
    std::size_t bytes_ = 0;
};

}  // namespace

RegistryAddresses::RegistryAddresses(std::vector<std::string> addresses, RegistryGet get,
                                     ResolutionLimits limits)
    : addresses_(std::move(addresses)), get_(std::move(get)), limits_(limits) {
    expects(!addresses_.empty(), "a registry has an address");
    for (std::string& address : addresses_) {
        while (address.ends_with('/')) address.pop_back();
    }
}

Resolution RegistryAddresses::resolve(const SchemaId& id, const std::stop_token& stop) {
    std::optional<Resolution> unknown;
    std::optional<Resolution> failed;
    for (std::size_t i = 0; i < addresses_.size() && !stop.stop_requested(); ++i) {
        const std::size_t at = (first_ + i) % addresses_.size();
        Resolution found = Walk(addresses_[at], get_, limits_, stop).run(id);
        switch (found.kind) {
            case Kind::found:
            case Kind::refused: first_ = at; return found;
            case Kind::unknown: unknown = std::move(found); break;
            case Kind::failed:
                if (!failed) failed = std::move(found);
                break;
        }
    }
    // A follower may not have heard of a new schema yet. If it were believed while the others are
    // away, good messages would become dead letters.
    if (failed) {
        failed->another_answers = unknown.has_value();
        return *failed;
    }
    if (unknown && !stop.stop_requested()) return *unknown;
    return {.reason = "was not asked, since the process ends"};
}

std::size_t size_of(const WrittenSchema& schema) {
    std::size_t bytes = sizeof(WrittenSchema) + schema.text.size();
    for (const WrittenSchema::Reference& reference : schema.references) {
        bytes += sizeof reference + reference.name.size() + reference.text.size();
    }
    return bytes;
}

}  // namespace onceward
