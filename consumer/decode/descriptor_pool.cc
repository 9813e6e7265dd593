#include "consumer/decode/descriptor_pool.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "consumer/decode/decoder.h"
#include "consumer/decode/proto_sources.h"
#include "dedup/base/nearest_name.h"

namespace onceward {
namespace {

namespace proto = google::protobuf;

using Field = proto::FieldDescriptor;

std::vector<std::string> field_names(const proto::Descriptor& type) {
    std::vector<std::string> names;
    for (int i = 0; i < type.field_count(); ++i) {
        names.push_back(type.field(i)->name());
    }
    return names;
}

void shape_of(ProtobufPath& path) {
    const Field* field = path.leaf;
    if (field->is_repeated()) {
        path.shape = PathShape::list;
    } else if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
        const proto::Descriptor* type = field->message_type();
        const auto known = type->well_known_type();
        path.shape = PathShape::object;
        if (known == proto::Descriptor::WELLKNOWNTYPE_TIMESTAMP) {
            path.shape = PathShape::timestamp;
            path.wrapped = type->FindFieldByNumber(1);
            path.nanos = type->FindFieldByNumber(2);
        } else if (known >= proto::Descriptor::WELLKNOWNTYPE_DOUBLEVALUE &&
                   known <= proto::Descriptor::WELLKNOWNTYPE_BOOLVALUE) {
            path.shape = PathShape::wrapper;
            path.wrapped = type->FindFieldByNumber(1);
        }
    }
}

}  // namespace

struct MessageType::Files {
    proto::SimpleDescriptorDatabase set;
    proto::DescriptorPoolDatabase well_known{*proto::DescriptorPool::generated_pool()};
    proto::MergedDescriptorDatabase set_and_well_known{&set, &well_known};
    proto::compiler::DiskSourceTree tree;
    FirstError error;
    std::unique_ptr<proto::compiler::SourceTreeDescriptorDatabase> sources;
    std::unique_ptr<proto::DescriptorPool> pool;
    std::vector<std::string> names;  // of the messages at hand, for the hint

    void add_file(const std::string& name, const std::string& origin, const char* hint = "") {
        const proto::FileDescriptor* file = pool->FindFileByName(name);
        if (file == nullptr) {
            throw FormatError(origin +
                              " does not load: " + (error.text.empty() ? name : error.text) + hint);
        }
        for (int i = 0; i < file->message_type_count(); ++i) {
            names.push_back(file->message_type(i)->full_name());
        }
    }

    void read_set(const std::string& path) {
        std::ifstream stream(path, std::ios::binary);
        if (!stream) {
            throw FormatError("the descriptor set " + path + " cannot be read");
        }
        proto::FileDescriptorSet files;
        if (!files.ParseFromIstream(&stream) || files.file_size() == 0) {
            throw FormatError(path +
                              " is not a descriptor set; make it with `protoc --include_imports "
                              "--descriptor_set_out=FILE`, or name the .proto in proto_files");
        }
        for (const proto::FileDescriptorProto& file : files.file()) {
            set.Add(file);
        }
        pool = std::make_unique<proto::DescriptorPool>(&set_and_well_known, &error);
        for (const proto::FileDescriptorProto& file : files.file()) {
            add_file(file.name(), path, " (was it made with --include_imports?)");
        }
    }

    void read_sources(const FormatOptions& options) {
        for (const std::string& path : options.proto_paths) {
            tree.MapPath("", path);
        }
        for (const std::string& path : options.proto_files) {
            const std::string folder = std::filesystem::path(path).parent_path().string();
            tree.MapPath("", folder.empty() ? "." : folder);
        }
        sources =
            std::make_unique<proto::compiler::SourceTreeDescriptorDatabase>(&tree, &well_known);
        sources->RecordErrorsTo(&error);
        pool = std::make_unique<proto::DescriptorPool>(sources.get(),
                                                       sources->GetValidationErrorCollector());
        for (const std::string& path : options.proto_files) {
            std::string name;
            std::string shadowing;
            switch (tree.DiskFileToVirtualFile(path, &name, &shadowing)) {
                case proto::compiler::DiskSourceTree::SUCCESS: add_file(name, path); break;
                case proto::compiler::DiskSourceTree::SHADOWED:
                    throw FormatError(path + " is hidden by " + shadowing +
                                      ", which has the same name below another import root");
                case proto::compiler::DiskSourceTree::CANNOT_OPEN:
                case proto::compiler::DiskSourceTree::NO_MAPPING:
                    throw FormatError("the .proto file " + path + " cannot be read");
            }
        }
    }

    const proto::Descriptor* find(const std::string& message) {
        const proto::Descriptor* descriptor = pool->FindMessageTypeByName(message);
        if (descriptor == nullptr) {
            // Most often the package was left out, so names that end alike come first.
            for (const std::string& name : names) {
                if (name.ends_with("." + message)) {
                    throw FormatError("there is no message `" + message + "`; did you mean `" +
                                      name + "`?");
                }
            }
            throw FormatError("there is no message `" + message + "` in the descriptors" +
                              did_you_mean(message, names));
        }
        return descriptor;
    }
};

MessageType::MessageType(const FormatOptions& options) {
    load_well_known_types();
    files_ = std::make_unique<Files>();
    if (!options.descriptor_set.empty()) {
        files_->read_set(options.descriptor_set);
    } else if (!options.proto_files.empty()) {
        files_->read_sources(options);
    } else {
        throw FormatError("the format protobuf needs `descriptor_set` or `proto_files`");
    }
    descriptor_ = files_->find(options.message);
}

MessageType::~MessageType() = default;

const proto::DescriptorPool& MessageType::pool() const { return *files_->pool; }

ProtobufPath compile_path(const proto::Descriptor& root, const std::string& text) {
    std::string why;
    std::optional<ProtobufPath> path = find_path(root, text, why);
    if (!path) throw FormatError(why);
    return std::move(*path);
}

std::optional<ProtobufPath> find_path(const proto::Descriptor& root, const std::string& text,
                                      std::string& why) {
    ProtobufPath path;
    if (text.empty()) {
        path.shape = PathShape::object;
        return path;
    }
    const proto::Descriptor* type = &root;
    std::size_t begin = 0;
    for (;;) {
        const std::size_t dot = text.find('.', begin);
        const std::string name = text.substr(begin, dot - begin);
        const Field* field = type->FindFieldByName(name);
        if (field == nullptr) {
            why = "the message " + type->full_name() + " has no field `" + name + "` (path `" +
                  text + "`)" + did_you_mean(name, field_names(*type));
            return std::nullopt;
        }
        if (dot == std::string::npos) {
            path.leaf = field;
            shape_of(path);
            return path;
        }
        if (field->is_repeated() || field->cpp_type() != Field::CPPTYPE_MESSAGE) {
            why = "the path `" + text + "` goes through `" + name + "`, which is " +
                  (field->is_repeated() ? "repeated; end the path there and take the whole list as "
                                          "JSON"
                                        : "no message; end the path there");
            return std::nullopt;
        }
        path.parents.push_back(field);
        type = field->message_type();
        begin = dot + 1;
    }
}

}  // namespace onceward
