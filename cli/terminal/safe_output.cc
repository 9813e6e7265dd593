#include "cli/terminal/safe_output.h"

#include <iostream>
#include <streambuf>
#include <string>

#include "dedup/base/text.h"

namespace onceward {

class SafeOutput::Filter final : public std::streambuf {
  public:
    explicit Filter(std::ostream& stream) : stream_(stream), target_(stream.rdbuf(this)) {}
    ~Filter() override {
        Filter::sync();
        stream_.rdbuf(target_);
    }
    Filter(const Filter&) = delete;
    Filter& operator=(const Filter&) = delete;

  protected:
    int_type overflow(int_type character) override {
        if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(0);
        const char byte = traits_type::to_char_type(character);
        return xsputn(&byte, 1) == 1 ? character : traits_type::eof();
    }
    std::streamsize xsputn(const char* bytes, std::streamsize count) override {
        pending_.append(bytes, static_cast<std::size_t>(count));
        return write(pending_.size() - incomplete_tail(pending_)) ? count : 0;
    }
    int sync() override { return write(pending_.size()) ? target_->pubsync() : -1; }

  private:
    bool write(std::size_t bytes) {
        const std::string text =
            safe_text(std::string_view(pending_).substr(0, bytes), LineBreaks::kept);
        pending_.erase(0, bytes);
        const auto size = static_cast<std::streamsize>(text.size());
        return target_->sputn(text.data(), size) == size;
    }

    std::ostream& stream_;
    std::streambuf* target_;
    std::string pending_;
};

SafeOutput::SafeOutput()
    : out_(std::make_unique<Filter>(std::cout)), error_(std::make_unique<Filter>(std::cerr)) {}

SafeOutput::~SafeOutput() = default;

}  // namespace onceward
