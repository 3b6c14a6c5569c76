/// A context whose streams are strings, for tests of verbs and output.
#pragma once
#include <string>

#include "app/cli/context.hpp"

namespace muster {

struct StringWriter final : Writer {
  explicit StringWriter(std::string& text) : text_(text) {}
  void write(std::string_view bytes) override { text_ += bytes; }
  Result<> finish() override { return {}; }

 private:
  std::string& text_;
};

/// Keeps what was written; must outlive nothing but itself.
struct Capture {
  std::string out;
  std::string err;
  Context context;
  Capture() {
    context.out = std::make_unique<StringWriter>(out);
    context.err = std::make_unique<StringWriter>(err);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
};

}  // namespace muster
