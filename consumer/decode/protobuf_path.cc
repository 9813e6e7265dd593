#include "consumer/decode/protobuf_path.h"

#include <google/protobuf/descriptor.h>

#include "consumer/decode/decoder.h"
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

ProtobufPath compile_path(const proto::Descriptor& root, const std::string& text) {
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
            throw FormatError("the message " + type->full_name() + " has no field `" + name +
                              "` (path `" + text + "`)" + did_you_mean(name, field_names(*type)));
        }
        if (dot == std::string::npos) {
            path.leaf = field;
            shape_of(path);
            return path;
        }
        if (field->is_repeated() || field->cpp_type() != Field::CPPTYPE_MESSAGE) {
            throw FormatError("the path `" + text + "` goes through `" + name + "`, which is " +
                              (field->is_repeated() ? "repeated; end the path there and take the "
                                                      "whole list as JSON"
                                                    : "no message; end the path there"));
        }
        path.parents.push_back(field);
        type = field->message_type();
        begin = dot + 1;
    }
}

}  // namespace onceward
