#include "cli/manual/man_page.h"

#include <algorithm>
#include <cctype>

#include "dedup/base/text.h"

namespace onceward {
namespace {

std::string upper_case(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

// Text that man shows as it is. A plain `-` would become a hyphen, and an option that is pasted
// would not be known. A line that begins with `.` or `'` would be a request.
std::string escaped(std::string_view text) {
    std::string out;
    bool line_begins = true;
    for (const char c : text) {
        if (line_begins && (c == '.' || c == '\'')) out += "\\&";
        line_begins = c == '\n';
        switch (c) {
            case '\\': out += "\\e"; break;
            case '-': out += "\\-"; break;
            case '\'': out += "\\(aq"; break;
            case '`': out += "\\(ga"; break;
            case '^': out += "\\(ha"; break;
            case '~': out += "\\(ti"; break;
            default: out += c;
        }
    }
    return out;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

// `code` and *emphasis* as man shows them; the rest as it is.
std::string styled(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t at = text.find_first_of("`*");
        if (at == std::string_view::npos) break;
        const std::string_view mark = text.substr(at, text.substr(at, 2) == "**" ? 2 : 1);
        const std::size_t end = text.find(mark, at + mark.size());
        const std::size_t inner = at + mark.size();
        // A lone star, as in `SELECT *`, is no emphasis.
        if (end == std::string_view::npos || end == inner || text[inner] == ' ') {
            out += escaped(text.substr(0, inner));
            text.remove_prefix(inner);
            continue;
        }
        out += escaped(text.substr(0, at));
        const std::string_view content = text.substr(inner, end - inner);
        if (mark == "`") {
            out += bold(content);
        } else if (mark == "**") {
            out += bold(replaced(std::string(content), "`", ""));
        } else {
            out += italic(content);
        }
        text.remove_prefix(end + mark.size());
    }
    return out + escaped(text);
}

std::string head(std::string_view title, int section, std::string_view what,
                 std::string_view version) {
    return ".TH " + upper_case(std::string(title)) + " " + std::to_string(section) + " \"\" \"" +
           std::string(version) + "\" \"Onceward\"\n.SH NAME\n" + escaped(title) + " \\- " +
           escaped(what) + "\n";
}

// A page's name is one line; a description may have several sentences.
std::string first_line(const std::string& text) {
    std::string line = text.substr(0, text.find_first_of(":;\n"));
    while (line.ends_with('.') || line.ends_with(' ')) line.pop_back();
    return line;
}

std::string synopsis(const CommandText& command) {
    std::string line = bold(command.words()) + "\n";
    if (std::any_of(command.options.begin(), command.options.end(),
                    [](const OptionText& option) { return option.positional.empty(); })) {
        line += "[" + italic("OPTIONS") + "]\n";
    }
    for (const OptionText& option : command.options) {
        if (option.positional.empty()) continue;
        const std::string name = italic(option.positional) + (option.repeated ? " ..." : "");
        line += (option.required ? name : "[" + name + "]") + "\n";
    }
    if (command.commands.empty()) return line;
    return line + (command.needs_command ? italic("COMMAND") : "[" + italic("COMMAND") + "]") +
           "\n";
}

std::string option_entry(const OptionText& option) {
    std::string term = option.positional.empty() ? "" : italic(option.positional);
    for (const std::string& name : option.names) {
        if (!term.empty()) term += ", ";
        term += bold(name);
    }
    if (!option.value.empty() && option.positional.empty()) term += " " + italic(option.value);
    std::string text = styled(option.text);
    if (!option.choices.empty()) {
        text += text.empty() ? "" : " ";
        text += "One of:";
        for (const std::string& choice : option.choices) text += " " + bold(choice);
        text += ".";
    }
    if (!option.initial.empty()) text += " Default: " + bold(option.initial) + ".";
    return ".TP\n" + term + "\n" + (text.empty() ? "\\&" : text) + "\n";
}

std::string see_also(const CommandText& command) {
    std::string pages = bold("onceward") + "(1), " + bold("onceward.yaml") + "(5)";
    for (std::size_t words = 2; words < command.path.size(); ++words) {
        std::string page = command.path[0];
        for (std::size_t i = 1; i < words; ++i) page += "-" + command.path[i];
        pages += ", " + bold(page) + "(1)";
    }
    return ".SH SEE ALSO\n" + pages + "\n";
}

std::string commands_section(const CommandText& command) {
    if (command.commands.empty()) return "";
    std::string text = ".SH COMMANDS\n";
    std::string group = command.commands.front().group;
    const bool grouped = std::any_of(command.commands.begin(), command.commands.end(),
                                     [&](const CommandText& one) { return one.group != group; });
    group.clear();
    for (const CommandText& child : command.commands) {
        if (grouped && child.group != group) text += ".SS " + escaped(child.group) + "\n";
        group = child.group;
        text += ".TP\n" + bold(child.words('-')) + "(1)\n" + styled(child.text) + "\n";
    }
    return text;
}

// A line of Markdown that is not a paragraph's. True if it was one.
bool block_line(std::string_view line, std::string& out) {
    if (line.starts_with("# ") || line.starts_with("|--")) return true;
    if (line.starts_with("## ")) {
        out += ".SH " + styled(upper_case(replaced(std::string(line.substr(3)), "`", ""))) + "\n";
    } else if (line.starts_with("### ")) {
        out += ".SS " + styled(replaced(std::string(line.substr(4)), "`", "")) + "\n";
    } else if (line.starts_with("| ")) {
        std::string row(line.substr(2, line.rfind(" |") - 2));
        const std::size_t cell = row.find(" | ");
        out += ".TP\n" + styled(row.substr(0, cell)) + "\n" +
               (cell == std::string::npos ? "\\&" : styled(row.substr(cell + 3))) + "\n";
    } else if (line.starts_with("- ")) {
        out += ".IP \\(bu 2\n" + styled(line.substr(2)) + "\n";
    } else if (line.empty()) {
        out += ".PP\n";
    } else {
        return false;
    }
    return true;
}

}  // namespace

std::string man_page(const CommandText& command, std::string_view version) {
    std::string page = head(command.words('-'), 1, first_line(command.text), version);
    page += ".SH SYNOPSIS\n" + synopsis(command);
    page += ".SH DESCRIPTION\n" + styled(command.text) + "\n";
    page += commands_section(command);
    if (!command.options.empty()) page += ".SH OPTIONS\n";
    for (const OptionText& option : command.options) page += option_entry(option);
    if (!command.footer.empty()) {
        page += ".SH NOTES\n" + replaced(styled(command.footer), "\n", "\n.br\n") + "\n";
    }
    return page + see_also(command);
}

std::string man_page_of_markdown(std::string_view markdown, std::string_view title,
                                 std::string_view what, std::string_view version) {
    std::string page = head(title, 5, what, version) + ".SH DESCRIPTION\n";
    std::string paragraph;
    const auto end_paragraph = [&] {
        if (!paragraph.empty()) page += styled(paragraph) + "\n";
        paragraph.clear();
    };
    while (!markdown.empty()) {
        const std::size_t end = std::min(markdown.find('\n'), markdown.size());
        const std::string_view line = markdown.substr(0, end);
        markdown.remove_prefix(std::min(end + 1, markdown.size()));
        std::string block;
        if (block_line(line, block)) {
            end_paragraph();
            page += block;
        } else {
            paragraph += (paragraph.empty() ? "" : "\n") + std::string(line);
        }
    }
    end_paragraph();
    return page + ".SH SEE ALSO\n" + bold("onceward") + "(1), " + bold("onceward-check") + "(1)\n";
}

}  // namespace onceward
