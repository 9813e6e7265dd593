#include "cli/proposal/proposal.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/configuration/yaml_text.h"
#include "cli/proposal/change_keys.h"
#include "consumer/decode/registry_decoder.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

// Documents whose members are data, not fields, have any number of names.
constexpr std::size_t most_columns = 200;

std::string pointer_to(const std::string& field) {
    return "/" + replaced(replaced(field, "~", "~0"), "/", "~1");
}

std::string table_name(const std::string& topic) {
    std::string name = lower_case(topic).substr(0, 63);
    for (char& letter : name) {
        if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
    }
    return name;
}

// Reads the sample as a worker would, and collects what it shows about each field.
class SampledFields {
  public:
    SampledFields(const PayloadShape& shape, const std::shared_ptr<SchemaSource>& schemas)
        : shape_(shape) {
        for (const std::string& name : shape.names) {
            if (paths_.size() == most_columns) break;
            const DeclaredField* const field = declared(name);
            const bool typed = field != nullptr && !field->choice.type.empty();
            paths_.push_back(pointer_to(name));
            evidence_.emplace_back(typed ? std::optional(field->choice) : std::nullopt,
                                   key_rank(name).has_value());
        }
        if (!shape.members) {
            paths_ = {""};
            evidence_.assign(1, FieldEvidence());
        }
        values_.resize(paths_.size());
        decoder_ = shape.registry ? make_registry_decoder(shape.options, paths_, schemas)
                                  : make_decoder(shape.options, paths_);
    }

    // False if the record is no row, or a row that is removed.
    bool take(const Record& record) {
        std::pmr::monotonic_buffer_resource arena;
        const Decoded decoded = decoder_->decode(record, values_, arena);
        if (decoded.tombstone) return ++tombstones_, false;
        if (decoded.rejection || decoded.awaits_schema) {
            ++refused_;
            if (reason_.empty()) {
                reason_ = decoded.rejection ? decoded.rejection->reason : *decoded.awaits_schema;
            }
            return false;
        }
        if (decoded.operation == Operation::remove) return ++deletes_, true;
        for (std::size_t i = 0; i < values_.size(); ++i) evidence_[i].take(values_[i]);
        return true;
    }

    const DeclaredField* declared(const std::string& name) const {
        const auto found = std::ranges::find(shape_.declared.fields, name, &DeclaredField::name);
        return found == shape_.declared.fields.end() ? nullptr : &*found;
    }
    const std::vector<std::string>& paths() const { return paths_; }
    const FieldEvidence& evidence(std::size_t place) const { return evidence_[place]; }
    std::size_t refused() const { return refused_; }
    std::size_t deletes() const { return deletes_; }
    std::size_t tombstones() const { return tombstones_; }
    const std::string& reason() const { return reason_; }

  private:
    const PayloadShape& shape_;
    std::vector<std::string> paths_;
    std::vector<FieldEvidence> evidence_;
    std::vector<Value> values_;
    std::unique_ptr<Decoder> decoder_;
    std::size_t refused_ = 0;
    std::size_t deletes_ = 0;
    std::size_t tombstones_ = 0;
    std::string reason_;  // of the first one that was refused
};

void add_column(const std::string& name, FieldSource source, ColumnChoice choice,
                std::vector<std::string>& taken, Proposal& proposal) {
    for (const std::string& note : choice.notes) {
        proposal.notes.push_back("field `" + safe_value(name, 100) + "` " + note);
    }
    if (choice.choice.type.empty()) return;
    const std::string column = column_name(name, taken);
    if (column != name && !name.empty()) {
        proposal.notes.push_back("field `" + safe_value(name, 100) + "` became the column `" +
                                 column + "`, since its name is none that a table can have");
    }
    proposal.columns.push_back({column, std::move(source), std::move(choice)});
}

void add_fields(const SampledFields& sampling, std::vector<std::string>& taken,
                Proposal& proposal) {
    for (std::size_t i = 0; i < sampling.paths().size(); ++i) {
        const bool whole = !proposal.shape.members;
        const std::string name = whole ? "payload" : proposal.shape.names[i];
        const DeclaredField* const declared = whole ? nullptr : sampling.declared(name);
        add_column(name, {FieldSource::Kind::field, sampling.paths()[i]},
                   choose_column(name, declared, sampling.evidence(i)), taken, proposal);
    }
    if (proposal.shape.members && proposal.shape.names.size() > most_columns) {
        proposal.notes.push_back("the rows have " + std::to_string(proposal.shape.names.size()) +
                                 " different members; the first " + std::to_string(most_columns) +
                                 " became columns");
    }
}

// A column of bytes that come whole with each record: text if all of them are text, else bytes.
void add_whole(const std::string& name, const std::string& metadata,
               std::span<const Record> records, std::vector<std::string>& taken,
               Proposal& proposal) {
    FieldEvidence evidence(std::nullopt, false, Provenance::whole);
    const FieldSource source{FieldSource::Kind::metadata, metadata};
    for (const Record& record : records) {
        const auto bytes = metadata == "payload" ? record.payload : record.key;
        Value value = bytes ? text_or_bytes(*bytes) : Value();
        if (!bytes) value.kind = Value::Kind::null;
        evidence.take(value);
    }
    if (evidence.kinds().all() == 0) return;
    const bool text = evidence.kinds().bytes == 0 && evidence.fits({"text"});
    add_column(name, source, {.choice = {text ? "text" : "bytea"}}, taken, proposal);
}

void add_raw(std::span<const Record> records, std::vector<std::string>& taken, Proposal& proposal) {
    add_whole("record_key", "record_key", records, taken, proposal);
    add_whole("payload", "payload", records, taken, proposal);
    const auto timed = [](const Record& each) { return each.timestamp.has_value(); };
    if (std::ranges::any_of(records, timed)) {
        add_column("kafka_timestamp", {FieldSource::Kind::metadata, "timestamp"},
                   {.choice = {"timestamptz"}}, taken, proposal);
    }
    if (!proposal.columns.empty()) return;
    add_column("kafka_offset", {FieldSource::Kind::metadata, "offset"}, {.choice = {"bigint"}},
               taken, proposal);
}

// The members of a record's key, by which Debezium names the row: they are its primary key.
std::vector<std::string> key_members(const Record& record, SchemaSource* schemas) {
    if (!record.key) return {};
    if (schemas != nullptr && record.key->size() > 5 && record.key->front() == '\0') {
        Record framed;
        framed.payload = record.key;
        const ConfluentFrame frame = read_confluent_frame(framed, MessageIndex::none);
        const SchemaAnswer answer = schemas->find(schema_id(frame));
        if (answer.state != SchemaAnswer::State::known ||
            answer.schema->language != SchemaLanguage::avro) {
            return {};
        }
        std::vector<std::string> names;
        for (const DeclaredField& field : avro_row(*answer.schema).fields) {
            names.push_back(field.name);
        }
        return names;
    }
    const auto key = nlohmann::ordered_json::parse(*record.key, nullptr, false);
    if (!key.is_object()) return {};
    const auto payload = key.find("payload");
    const auto& members = payload != key.end() && payload->is_object() ? *payload : key;
    std::vector<std::string> names;
    for (const auto& [name, value] : members.items()) names.push_back(name);
    return names;
}

// Change events name their row by the record's key. Without a unique key there is no upsert, and so
// no delete.
void choose_mode(std::span<const Record> records, SchemaSource* schemas, std::size_t deletes,
                 Proposal& proposal) {
    if (proposal.shape.options.envelope != Envelope::debezium) return;
    for (const Record& record : records) {
        std::vector<std::string> target;
        for (const std::string& member : key_members(record, schemas)) {
            const auto column = std::ranges::find_if(
                proposal.columns,
                [&](const ProposedColumn& one) { return one.source.text == pointer_to(member); });
            if (column != proposal.columns.end()) target.push_back(column->name);
        }
        if (target.empty()) continue;
        for (ProposedColumn& column : proposal.columns) {
            if (std::ranges::find(target, column.name) != target.end()) {
                column.choice.required = true;
            }
        }
        proposal.conflict_target = std::move(target);
        proposal.notes.push_back(
            "the members of the record's key became the table's primary key; an update changes its "
            "row, and a delete removes it");
        return;
    }
    proposal.notes.push_back(
        "no record key names a row's columns, so each change becomes a row of its own" +
        std::string(deletes == 0 ? "; a delete event would be a dead letter"
                                 : ", and " + std::to_string(deletes) +
                                       " delete events of the sample are dead letters"));
}

std::vector<KeyField> key_fields(const SampledFields& sampling, const PayloadShape& shape) {
    std::vector<KeyField> fields;
    for (std::size_t i = 0; shape.members && i < sampling.paths().size(); ++i) {
        if (!key_rank(shape.names[i])) continue;
        fields.push_back({shape.names[i], "{field: " + yaml_value(sampling.paths()[i]) + "}",
                          sampling.evidence(i).keys()});
    }
    return fields;
}

KeyChoice key_of(std::span<const Record* const> messages, const SampledFields& sampling,
                 const PayloadShape& shape, const std::shared_ptr<SchemaSource>& schemas) {
    if (shape.options.envelope != Envelope::debezium) {
        return choose_key(messages, key_fields(sampling, shape));
    }
    return choose_change_key(
        messages.size(),
        count_change_keys(messages, shape.options, shape.registry ? schemas : nullptr));
}

void note_headers(std::span<const Record* const> records, Proposal& proposal) {
    std::vector<std::pair<std::string, std::size_t>> seen;
    for (const Record* const record : records) {
        for (const Header& header : record->headers) {
            const auto known =
                std::ranges::find(seen, header.name, &std::pair<std::string, std::size_t>::first);
            if (known != seen.end()) {
                ++known->second;
            } else if (seen.size() < 20) {
                seen.emplace_back(header.name, 1);
            }
        }
    }
    for (const auto& [name, count] : seen) {
        proposal.notes.push_back("header `" + safe_value(name, 100) + "` came " +
                                 std::to_string(count) +
                                 " times; a column gets it by `{header: NAME}`");
    }
}

}  // namespace

Proposal propose(SampledTopic topic, std::span<const Record> records,
                 const std::shared_ptr<SchemaSource>& schemas, const WrittenSchema* latest) {
    Proposal proposal;
    proposal.shape = shape_of(records, schemas.get(), latest);
    proposal.notes = proposal.shape.notes;
    proposal.table = table_name(topic.name);
    proposal.topic = std::move(topic);
    proposal.records = records.size();
    std::vector<const Record*> messages;
    std::vector<std::string> taken;
    std::size_t tombstones = 0;
    const bool raw = proposal.shape.options.format == Format::raw;
    if (raw) {
        for (const Record& record : records) {
            if (record.payload) messages.push_back(&record);
        }
        tombstones = records.size() - messages.size();
        add_raw(records, taken, proposal);
        proposal.key = choose_key(messages, {});
    } else {
        SampledFields sampling(proposal.shape, schemas);
        for (const Record& record : records) {
            if (!record.payload) {
                ++tombstones;
            } else if (sampling.take(record)) {
                messages.push_back(&record);
            }
        }
        tombstones += sampling.tombstones();
        add_fields(sampling, taken, proposal);
        choose_mode(records, schemas.get(), sampling.deletes(), proposal);
        proposal.key = key_of(messages, sampling, proposal.shape, schemas);
        if (sampling.refused() > 0) {
            proposal.notes.push_back(std::to_string(sampling.refused()) +
                                     " records of the sample cannot be read and would be dead "
                                     "letters, the first because " +
                                     sampling.reason());
        }
    }
    proposal.skips_tombstones =
        tombstones > 0 || proposal.shape.options.envelope == Envelope::debezium;
    if (tombstones > 0) {
        proposal.notes.push_back(std::to_string(tombstones) +
                                 " records have no payload and are skipped (`tombstones`)");
    }
    std::ranges::copy(proposal.key.notes, std::back_inserter(proposal.notes));
    note_headers(messages, proposal);
    return proposal;
}

}  // namespace onceward
