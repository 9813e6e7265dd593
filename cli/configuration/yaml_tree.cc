#include "cli/configuration/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <utility>

#include "cli/configuration/yaml_faults.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

Mark mark_from(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

class TreeBuilder : public YAML::EventHandler {
  public:
    explicit TreeBuilder(Report& report) : report_(report) {}

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        refuse_extras(mark, {}, anchor);
        take({.mark = mark_from(mark)});
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        report_.error(
            mark_from(mark), "",
            "Aliases (`*name`) are not allowed: each value is written where it is used. Write the "
            "value out here.");
        take({.kind = Node::Kind::scalar, .mark = mark_from(mark), .resolved = false});
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        refuse_extras(mark, tag, anchor);
        read_.scalar = mark_from(mark);
        read_.quoted = tag == "!";
        take({.kind = Node::Kind::scalar,
              .mark = mark_from(mark),
              .text = value,
              .written = value,
              .quoted = tag == "!"});
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value style) override {
        start(Node::Kind::sequence, mark, tag, anchor, style);
    }
    void OnSequenceEnd() override { finish(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value style) override {
        start(Node::Kind::mapping, mark, tag, anchor, style);
    }
    void OnMapEnd() override { finish(); }

    std::optional<Node> root() { return std::move(root_); }
    YamlProgress progress() const {
        YamlProgress read = read_;
        if (open_.empty()) return read;
        read.bracket = open_.back().node.mark;
        const char* bracket = open_.back().node.kind == Node::Kind::mapping ? "{" : "[";
        read.bracket_is = open_.back().flow ? bracket : "";
        return read;
    }

  private:
    struct Open {
        Node node;
        bool flow = false;        // between brackets
        bool value_next = false;  // a mapping whose key was read
        bool duplicate = false;   // the value that comes belongs to a key that was there before
    };

    void refuse_extras(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
        if (anchor != 0) {
            report_.error(mark_from(mark), "",
                          "Anchors (`&name`) are not allowed: each value is written where it is "
                          "used. Remove the anchor and write the value out at each place.");
        }
        if (!tag.empty() && tag != "?" && tag != "!") {
            // The tag is not shown: it may be a password that begins with `!`.
            report_.error(mark_from(mark), "",
                          "Tags (`!name`) are not allowed. Write the plain value, in quotes if it "
                          "begins with `!`.");
        }
    }
    void start(Node::Kind kind, const YAML::Mark& mark, const std::string& tag,
               YAML::anchor_t anchor, YAML::EmitterStyle::value style) {
        refuse_extras(mark, tag, anchor);
        open_.push_back({.node = {.kind = kind, .mark = mark_from(mark)},
                         .flow = style == YAML::EmitterStyle::Flow});
    }
    void finish() {
        Node node = std::move(open_.back().node);
        open_.pop_back();
        // A variable in another notation, which was refused.
        if (!node.resolved) {
            node = {.kind = Node::Kind::scalar, .mark = node.mark, .resolved = false};
        }
        take(std::move(node));
    }
    void take(Node node) {
        if (open_.empty()) {
            root_ = std::move(node);
            return;
        }
        Open& open = open_.back();
        if (open.node.kind == Node::Kind::mapping && !open.value_next) {
            take_key(open, node);
            return;
        }
        open.value_next = false;
        // DANGER: a second value of the same key must not replace the first.
        if (std::exchange(open.duplicate, false)) return;
        if (node.kind == Node::Kind::null && open.node.kind == Node::Kind::mapping) {
            divide_joined(open.node.keys.back(), node);
        }
        open.node.items.push_back(std::move(node));
    }
    // `amount:/amount` is a key without a value. It is read as it was meant, since all that follows
    // from it would be reported too.
    void divide_joined(Node::Key& key, Node& value) {
        const auto colon = joined_colon(key.name);
        if (!colon) return;
        report_.error(key.mark, "", joined_colon_advice(key.name, *colon));
        value.kind = Node::Kind::scalar;
        value.mark = key.mark;
        value.text = value.written = key.name.substr(*colon + 1);
        key.name.resize(*colon);
    }
    void take_key(Open& open, const Node& node) {
        open.value_next = true;
        if (node.kind == Node::Kind::mapping && node.keys.size() == 1 &&
            node.items.front().kind == Node::Kind::null) {
            const std::string& inside = node.keys.front().name;
            const std::string name = is_variable_name(inside) ? inside : "NAME";
            report_.error(open.node.mark, "",
                          "`{{" + leading_name(inside, "._") + "}}` is not a variable. Write `${" +
                              name + "}`.");
            open.node.resolved = false;
            open.duplicate = true;
            return;
        }
        if (node.kind != Node::Kind::scalar) {
            report_.error(node.mark, "", "A key must be a plain name, not a list or a mapping.");
            open.duplicate = true;
            return;
        }
        for (const Node::Key& key : open.node.keys) {
            if (key.name != node.text) continue;
            report_.error(node.mark, "",
                          "`" + leading_name(node.text) + "` is given twice, first in line " +
                              std::to_string(key.mark.line) + ". Keep one of them.");
            open.duplicate = true;
            return;
        }
        open.node.keys.push_back({node.text, node.mark});
    }

    Report& report_;
    std::vector<Open> open_;
    std::optional<Node> root_;
    YamlProgress read_;
};

// Whether the text is UTF-8; else the report says where it is not. A zero byte counts as such a
// place: only a text in another encoding, such as UTF-16, has one.
bool is_utf8_text(std::string_view text, Report& report) {
    const std::size_t at = std::min(utf8_prefix(text), text.find('\0'));
    if (at == text.size()) return true;
    const std::string_view before = text.substr(0, at);
    const auto line = static_cast<int>(std::ranges::count(before, '\n')) + 1;
    const std::size_t line_begin = before.rfind('\n') + 1;  // 0 in the first line
    std::array<char, 8> byte{};
    std::snprintf(byte.data(), byte.size(), "0x%02X", static_cast<unsigned char>(text[at]));
    report.error({line, static_cast<int>(at - line_begin) + 1}, "",
                 "The file is not UTF-8: line " + std::to_string(line) + " has the byte " +
                     byte.data() + ". Save it as UTF-8.");
    return false;
}

// DANGER: if the last line is blank, yaml-cpp takes the end of the file for the end of an open
// quote, and all options after the quote are lost silently. A comment there makes it refuse that.
std::string with_comment_at_end(std::string text) {
    const std::size_t last = text.find_last_not_of(" \t");
    if (last != std::string::npos && text[last] != '\n') return text;
    text.resize(last + 1);  // 0 if there is nothing but blanks
    return text + '#';
}

// Where the quote begins that is open at the end of the text. yaml-cpp does not tell. If the quote
// is closed there, it is the last scalar.
Mark open_quote(const std::string& text) {
    for (const char* end : {"\n'", "\n\""}) {
        Report ignored;
        TreeBuilder builder(ignored);
        std::istringstream stream(text + end);
        try {
            YAML::Parser parser(stream);
            if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
        } catch (const YAML::Exception& exception) {
            if (exception.msg == YAML::ErrorMsg::EOF_IN_SCALAR) continue;
        }
        return builder.progress().scalar;
    }
    return {1, 1};
}

}  // namespace

const Node* Node::find(const std::string& name) const {
    for (std::size_t index = 0; index < keys.size(); ++index) {
        if (keys[index].name == name) return &items[index];
    }
    return nullptr;
}

std::optional<Node> parse_yaml(const std::string& file, Report& report) {
    // Some editors begin a file with this mark of UTF-8, which is no part of its text.
    const bool marked = file.starts_with("\xEF\xBB\xBF");
    const std::string text = marked ? file.substr(3) : file;
    if (!is_utf8_text(text, report)) return std::nullopt;
    std::istringstream stream(with_comment_at_end(text));
    TreeBuilder builder(report);
    try {
        YAML::Parser parser(stream);
        if (!parser.HandleNextDocument(builder)) {
            return report.error(
                {1, 1}, "", "The file is empty. `onceward init` prints one to start from.");
        }
        TreeBuilder second(report);
        if (parser.HandleNextDocument(second)) {
            const std::optional<Node> root = second.root();
            report.error(root ? root->mark : Mark{}, "",
                         "A second document begins here. Remove the `---` before it: a "
                         "configuration is one document.");
        }
    } catch (const YAML::Exception& exception) {
        if (exception.msg == YAML::ErrorMsg::EOF_IN_SCALAR) {
            return report.error(
                open_quote(text), "",
                "The quote that begins here is never closed. Close it in this line.");
        }
        const YamlFault fault =
            yaml_fault(text, exception.msg, mark_from(exception.mark), builder.progress());
        return report.error(fault.mark, "", fault.message);
    }
    return builder.root();
}

}  // namespace onceward
