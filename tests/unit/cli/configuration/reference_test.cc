#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/configuration/option_table.h"
#include "cli/configuration/values.h"

namespace onceward {
namespace {

std::string repository_file(const char* path) {
    std::ifstream stream(std::filesystem::path(ONCEWARD_SOURCE_FOLDER) / path);
    return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Reference, ThePageInDocsIsWhatTheProgramPrints) {
    EXPECT_EQ(repository_file("docs/configuration.md"), configuration_reference())
        << "run: onceward config reference > docs/configuration.md";
}

TEST(Reference, TheSchemaInSchemasIsWhatTheProgramPrints) {
    EXPECT_EQ(repository_file("schemas/config.schema.json"), configuration_schema())
        << "run: onceward config schema > schemas/config.schema.json";
}

TEST(Reference, EveryOptionIsDescribedAndBound) {
    std::set<std::string_view> paths;
    for (const OptionSpec& spec : option_table()) {
        EXPECT_TRUE(paths.insert(spec.path).second) << spec.path << " is there twice";
        EXPECT_FALSE(spec.meaning.empty()) << spec.path;
        EXPECT_NE(spec.bind.set, nullptr) << spec.path;
    }
}

TEST(Reference, EveryDefaultIsAValueThatTheLoaderTakes) {
    for (const OptionSpec& spec : option_table()) {
        if (!spec.has_default()) continue;
        EXPECT_NO_THROW(default_value(spec)) << spec.path;
    }
}

TEST(Reference, ThePresetsAreThoseOfTheKeys) {
    const std::vector<std::string> names = key_preset_names();
    for (const OptionSpec& spec : option_table()) {
        if (spec.path != "topics[].key.preset") continue;
        const auto& choices = spec.bind.choices;
        EXPECT_EQ(std::vector<std::string>(choices.begin(), choices.end()), names);
    }
    for (const std::string& name : names) EXPECT_TRUE(key_preset(name)) << name;
}

// Each `$ref` below the node.
void collect_references(const nlohmann::json& node, std::multiset<std::string>& found) {
    if (node.is_object() && node.contains("$ref")) {
        found.insert(node.at("$ref").get<std::string>());
        EXPECT_EQ(node.size(), 1U) << "draft 7 ignores what is next to a `$ref`: " << node;
    }
    if (!node.is_structured()) return;
    for (const auto& child : node) collect_references(child, found);
}

TEST(Reference, WhatTheSchemaRefersToIsInItOnceAndUsed) {
    const auto schema = nlohmann::json::parse(configuration_schema());
    std::multiset<std::string> references;
    collect_references(schema, references);
    for (const std::string& reference : references) {
        ASSERT_TRUE(reference.starts_with("#/")) << reference << " is not in the file";
        EXPECT_TRUE(schema.contains(nlohmann::json::json_pointer(reference.substr(1))));
    }
    for (const auto& [name, definition] : schema.at("definitions").items()) {
        EXPECT_TRUE(references.contains("#/definitions/" + name)) << name;
    }
    EXPECT_GE(references.count("#/definitions/column"), 5U);
}

TEST(Reference, TheSchemaKnowsEveryOption) {
    const auto schema = nlohmann::json::parse(configuration_schema());
    for (const OptionSpec& spec : option_table()) {
        const nlohmann::json* node = &schema;
        std::string_view rest = spec.path;
        while (!rest.empty()) {
            const std::size_t dot = std::min(rest.find('.'), rest.size());
            std::string part(rest.substr(0, dot));
            const bool list = part.ends_with("[]");
            if (list) part.resize(part.size() - 2);
            node = &node->at("properties").at(part);
            if (list) node = &node->at("items");
            rest.remove_prefix(std::min(dot + 1, rest.size()));
        }
        EXPECT_TRUE(node->contains("description")) << spec.path;
    }
}

}  // namespace
}  // namespace onceward
