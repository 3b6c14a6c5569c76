/// Text of others on a terminal: nothing in it may steer it. Line by line; tabs stay, a progress
/// bar shows its last version, everything else that is no plain text is escaped. One thread.
#pragma once
#include <string>
#include <string_view>

#include "app/cli/context.hpp"

namespace muster {

class SafeLines {
 public:
  explicit SafeLines(Context& context) : context_(context) {}
  void feed(std::string_view bytes);
  /// The last line, when it had no end.
  void finish();

 private:
  Context& context_;
  std::string rest_;
};

/// Bytes as they are into a file or a pipe, made safe on a terminal.
class AnswerBytes {
 public:
  explicit AnswerBytes(Context& context) : context_(context), safe_(context) {}
  void put(std::string_view bytes) {
    context_.out_is_tty ? safe_.feed(bytes) : context_.out->write(bytes);
  }
  void finish() { safe_.finish(); }

 private:
  Context& context_;
  SafeLines safe_;
};

}  // namespace muster
