#pragma once
// What the loaders of .proto texts share. Only for them.

#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>

#include <string>
#include <utility>

namespace onceward {

// Keeps the first thing that Protobuf complains about; its first error causes the later ones.
struct FirstError : google::protobuf::DescriptorPool::ErrorCollector,
                    google::protobuf::compiler::MultiFileErrorCollector {
    std::string text;

    void AddError(const std::string& file, const std::string& element,
                  const google::protobuf::Message*,
                  google::protobuf::DescriptorPool::ErrorCollector::ErrorLocation,
                  const std::string& message) override {
        note(file + ": " + element + ": " + message);
    }
    void AddError(const std::string& file, int line, int column,
                  const std::string& message) override {
        note(file + ":" + std::to_string(line + 1) + ":" + std::to_string(column + 1) + ": " +
             message);
    }
    void note(std::string what) {
        if (text.empty()) {
            text = std::move(what);
        }
    }
};

// Links the files of Google's well-known types into the generated pool, as this program was built
// with them. Throws FormatError if they are missing.
void load_well_known_types();

}  // namespace onceward
