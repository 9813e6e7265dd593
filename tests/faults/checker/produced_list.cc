#include "tests/faults/checker/produced_list.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_map>

#include "tests/faults/checker/base64.h"

namespace onceward::checker {
namespace {

using nlohmann::json;

const std::array<std::pair<const char*, Nature>, 6> natures{{
    {"good", Nature::good},
    {"undecodable", Nature::undecodable},
    {"refused", Nature::refused},
    {"uncertain", Nature::uncertain},
    {"tombstone", Nature::tombstone},
    {"without_key", Nature::without_key},
}};

Nature nature_of(const std::string& name) {
    for (const auto& [text, nature] : natures) {
        if (name == text) return nature;
    }
    throw std::runtime_error("unknown nature " + name);
}

const char* text_of(Nature wanted) {
    for (const auto& [text, nature] : natures) {
        if (wanted == nature) return text;
    }
    return "";
}

ProducedMessage message_of(const json& line, const std::unordered_map<std::string, int>& topics) {
    ProducedMessage message;
    message.id = line.at("id").get<std::uint64_t>();
    const std::string topic = line.at("t").get<std::string>();
    const auto found = topics.find(topic);
    if (found == topics.end()) throw std::runtime_error("unknown topic " + topic);
    message.place = {found->second, line.value("p", 0), line.value("o", std::int64_t{-1})};
    if (line.contains("n")) message.nature = nature_of(line["n"].get<std::string>());
    message.aborted = line.value("a", false);
    message.key_kind = line.value("kk", "");
    message.key =
        line.contains("k64") ? from_base64(line["k64"].get<std::string>()) : line.value("k", "");
    message.fingerprint = line.value("f", "");
    message.target = line.value("r", "");
    message.acknowledged_us = line.value("at", std::int64_t{0});
    message.sqlstate = line.value("s", "");
    return message;
}

void each_line(std::istream& lines, const std::string& name,
               const std::function<void(const json&)>& take) {
    std::string text;
    for (std::int64_t number = 1; std::getline(lines, text); ++number) {
        // Only the last line has no end: its writer died in it.
        const bool cut = lines.eof();
        const json line = json::parse(text, nullptr, false);
        if (line.is_discarded() && cut) return;
        try {
            if (line.is_discarded()) throw std::runtime_error("no JSON");
            take(line);
        } catch (const std::exception& error) {
            throw std::runtime_error(name + ", line " + std::to_string(number) + ": " +
                                     error.what());
        }
    }
}

std::ifstream opened(const std::filesystem::path& file) {
    std::ifstream lines(file);
    if (!lines) throw std::runtime_error("cannot read " + file.string());
    return lines;
}

}  // namespace

std::string produced_line(const ProducedMessage& message,
                          const std::vector<TopicSettings>& topics) {
    json line{{"id", message.id},
              {"t", topics.at(static_cast<std::size_t>(message.place.topic)).name}};
    if (message.place.offset >= 0) {
        line["p"] = message.place.partition;
        line["o"] = message.place.offset;
    }
    if (message.nature != Nature::good) line["n"] = text_of(message.nature);
    if (message.aborted) line["a"] = true;
    if (!message.key_kind.empty()) line["kk"] = message.key_kind;
    if (!message.key.empty()) line["k"] = message.key;
    if (!message.fingerprint.empty()) line["f"] = message.fingerprint;
    if (!message.target.empty()) line["r"] = message.target;
    if (message.acknowledged_us != 0) line["at"] = message.acknowledged_us;
    if (!message.sqlstate.empty()) line["s"] = message.sqlstate;
    try {
        return line.dump();
    } catch (const json::type_error&) {  // no UTF-8
        line.erase("k");
        line["k64"] = to_base64(message.key);
        return line.dump();
    }
}

void read_produced(std::istream& lines, Evidence& evidence) {
    std::unordered_map<std::string, int> topics;
    for (std::size_t i = 0; i < evidence.topics.size(); ++i) {
        topics[evidence.topics[i].name] = static_cast<int>(i);
    }
    each_line(lines, "produced list",
              [&](const json& line) { evidence.produced.push_back(message_of(line, topics)); });
}

void load_produced(const std::filesystem::path& file, Evidence& evidence) {
    std::ifstream lines = opened(file);
    evidence.produced.clear();
    read_produced(lines, evidence);
}

void read_calls(std::istream& lines, Evidence& evidence) {
    each_line(lines, "list of calls", [&](const json& line) {
        if (line.contains("q")) {
            evidence.route_calls.push_back({.request = line["q"].get<std::string>(),
                                            .body = line.at("b").get<std::string>(),
                                            .key = line.at("k").get<std::string>(),
                                            .status = line.value("s", 0),
                                            .at_us = line.value("at", std::int64_t{0})});
            return;
        }
        evidence.calls.push_back({.message = line.at("id").get<std::uint64_t>(),
                                  .key = line.at("k").get<std::string>(),
                                  .worker = line.at("w").get<std::string>(),
                                  .at_us = line.at("at").get<std::int64_t>(),
                                  .status = line.value("s", 0)});
    });
}

void load_calls(const std::filesystem::path& file, Evidence& evidence) {
    std::ifstream lines = opened(file);
    evidence.calls.clear();
    evidence.route_calls.clear();
    read_calls(lines, evidence);
}

void read_requests(std::istream& lines, Evidence& evidence) {
    each_line(lines, "list of requests", [&](const json& line) {
        Request request{.key = line.at("k").get<std::string>(),
                        .body = line.at("b").get<std::string>(),
                        .status = line.value("s", 0),
                        .replayed = line.value("r", false),
                        .answer = line.value("a", ""),
                        .called = line.value("u", false),
                        .sent_us = line.value("from", std::int64_t{0}),
                        .ended_us = line.value("to", std::int64_t{0})};
        const json answer = json::parse(request.answer, nullptr, false);
        if (answer.is_object()) {
            request.problem = answer.value("type", "");
            if (answer.contains("effect")) {
                request.effect = answer["effect"].get<std::int64_t>();
            }
        }
        evidence.requests.push_back(std::move(request));
    });
}

void read_key_commands(std::istream& lines, Evidence& evidence) {
    each_line(lines, "list of commands", [&](const json& line) {
        using What = KeyCommand::What;
        const std::string what = line.at("do").get<std::string>();
        const std::string topic = line.at("t").get<std::string>();
        const auto found = std::ranges::find(evidence.topics, topic, &TopicSettings::name);
        if (found == evidence.topics.end()) throw std::runtime_error("unknown topic " + topic);
        KeyCommand command{.topic = static_cast<int>(found - evidence.topics.begin()),
                           .key = line.at("k").get<std::string>(),
                           .from_us = line.at("from").get<std::int64_t>(),
                           .to_us = line.at("to").get<std::int64_t>()};
        if (what == "import") {
            command.what = What::imported;
        } else if (what == "import_tried") {
            command.what = What::perhaps_imported;
        } else if (what == "forget") {
            command.what = What::forgotten;
        } else {
            throw std::runtime_error("unknown command " + what);
        }
        evidence.key_commands.push_back(std::move(command));
    });
}

void load_key_commands(const std::filesystem::path& file, Evidence& evidence) {
    std::ifstream lines = opened(file);
    evidence.key_commands.clear();
    read_key_commands(lines, evidence);
}

void load_requests(const std::filesystem::path& file, Evidence& evidence) {
    std::ifstream lines = opened(file);
    evidence.requests.clear();
    read_requests(lines, evidence);
}

}  // namespace onceward::checker
