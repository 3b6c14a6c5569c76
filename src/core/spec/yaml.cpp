#include "core/spec/yaml.hpp"

#include <libfyaml.h>

#include <map>
#include <memory>
#include <unordered_set>

#include "base/text.hpp"

namespace muster::spec {
namespace {

struct ParserCloser {
  void operator()(fy_parser* parser) const { fy_parser_destroy(parser); }
};
struct DiagCloser {
  void operator()(fy_diag* diag) const { fy_diag_destroy(diag); }
};
using Parser = std::unique_ptr<fy_parser, ParserCloser>;
using Diag = std::unique_ptr<fy_diag, DiagCloser>;

// The library would write to stderr; errors are collected instead.
void write_nothing(fy_diag*, void*, const char*, std::size_t) {}

Diag quiet_diag() {
  fy_diag_cfg config;
  fy_diag_cfg_default(&config);
  config.fp = nullptr;
  config.output_fn = write_nothing;
  config.colorize = false;
  Diag diag(fy_diag_create(&config));
  if (diag) fy_diag_set_collect_errors(diag.get(), true);
  return diag;
}

/// One event of the library, freed at the end of its scope.
class Next {
 public:
  explicit Next(fy_parser* parser) : parser_(parser), event_(fy_parser_parse(parser)) {}
  ~Next() { fy_parser_event_free(parser_, event_); }
  Next(const Next&) = delete;
  Next& operator=(const Next&) = delete;
  fy_event* get() const { return event_; }

 private:
  fy_parser* parser_;
  fy_event* event_;
};

std::string text_of(fy_token* token) {
  if (token == nullptr) return {};
  std::size_t length = 0;
  const char* text = fy_token_get_text(token, &length);
  return text == nullptr ? std::string() : std::string(text, length);
}

/// Turns the library's events into the tree. Recursion is bounded by the depth limit.
class Builder {
 public:
  Builder(fy_parser* parser, fy_diag* diag, std::string_view file, const YamlLimits& limits)
      : parser_(parser), diag_(diag), file_(file), limits_(limits) {}

  Result<YamlNode> document() {
    YamlNode root;
    bool has_root = false;
    for (;;) {
      const Next next(parser_);
      if (next.get() == nullptr) break;
      see(next.get());
      const auto type = next.get()->type;
      if (type == FYET_DOCUMENT_START && has_root)
        return fail_at(file_, here_, "a second document begins here", "keep one document a file");
      if (type == FYET_SCALAR || type == FYET_SEQUENCE_START || type == FYET_MAPPING_START ||
          type == FYET_ALIAS) {
        TRY(root, node(next.get(), 1));
        has_root = true;
      }
    }
    TRY_VOID(no_stream_error());
    return root;
  }

 private:
  void see(fy_event* event) {
    const fy_mark* mark = fy_event_start_mark(event);
    if (mark == nullptr) return;
    here_.line = mark->line + 1;
    here_.column = mark->column + 1;
  }

  Result<> no_stream_error() {
    if (!fy_parser_get_stream_error(parser_)) return {};
    void* iterator = nullptr;
    YamlNode at = here_;
    std::string what = "it ends, or goes wrong, in the middle of something";
    // The first error is the cause; the rest follow from it.
    if (const auto* error = fy_diag_errors_iterate(diag_, &iterator)) {
      what = error->msg == nullptr ? what : std::string(trimmed(error->msg));
      if (error->line > 0) at.line = error->line;
      if (error->line > 0) at.column = std::max(error->column, 1);
    }
    return fail_at(file_, at, fmt::format("not valid YAML: {}", what));
  }

  Result<> count(std::size_t more) {
    nodes_ += more;
    if (nodes_ <= limits_.nodes) return {};
    return fail_at(file_, here_, fmt::format("more than {} values", limits_.nodes),
                   "use fewer aliases (*name), or a smaller file");
  }

  Result<YamlNode> node(fy_event* event, int depth) {
    if (depth > limits_.depth)
      return fail_at(file_, here_, fmt::format("nested deeper than {} levels", limits_.depth));
    TRY_VOID(count(1));
    if (event->type == FYET_ALIAS) return alias(event, depth);
    if (fy_event_get_tag_token(event) != nullptr)
      return fail_at(file_, here_, "tags (!name) are not used here", "remove the tag");
    const std::string anchor = text_of(fy_event_get_anchor_token(event));
    const std::size_t before = nodes_;
    TRY(auto made, event->type == FYET_SCALAR          ? scalar(event)
                   : event->type == FYET_MAPPING_START ? map(depth)
                                                       : list(depth));
    if (!anchor.empty()) anchors_[anchor] = Anchored{made, nodes_ - before + 1, depth_of(made)};
    return made;
  }

  Result<YamlNode> scalar(fy_event* event) {
    YamlNode made = here_;
    fy_token* token = fy_event_get_token(event);
    made.text = text_of(token);
    const auto style = fy_token_scalar_style(token);
    made.is_quoted = style != FYSS_PLAIN;
    // The library's mark is behind the quote; a person looks for the quote.
    if (style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED) --made.column;
    return made;
  }

  Result<YamlNode> alias(fy_event* event, int depth) {
    const std::string name = text_of(fy_event_get_token(event));
    const auto found = anchors_.find(name);
    if (found == anchors_.end())
      return fail_at(file_, here_, fmt::format("no anchor &{} above this alias", printable(name)));
    TRY_VOID(count(found->second.nodes));
    if (depth - 1 + found->second.depth > limits_.depth)
      return fail_at(file_, here_, fmt::format("nested deeper than {} levels", limits_.depth));
    YamlNode made = found->second.node;
    made.line = here_.line;
    made.column = here_.column;
    return made;
  }

  Result<YamlNode> list(int depth) {
    YamlNode made = here_;
    made.kind = YamlKind::list;
    for (;;) {
      const Next next(parser_);
      if (next.get() == nullptr) return broken();
      see(next.get());
      if (next.get()->type == FYET_SEQUENCE_END) return made;
      TRY(auto item, node(next.get(), depth + 1));
      made.items.push_back(std::move(item));
    }
  }

  Result<YamlNode> map(int depth) {
    YamlNode made = here_;
    made.kind = YamlKind::map;
    std::unordered_set<std::string> seen;
    for (;;) {
      const Next next(parser_);
      if (next.get() == nullptr) return broken();
      see(next.get());
      if (next.get()->type == FYET_MAPPING_END) return made;
      TRY(auto key, node(next.get(), depth + 1));
      if (key.kind != YamlKind::scalar)
        return fail_at(file_, key, "a key must be a plain word or a quoted string");
      if (!seen.insert(key.text).second)
        return fail_at(file_, key, fmt::format("the key \"{}\" is here twice", printable(key.text)),
                       "remove one of the two");
      TRY(auto value, value_of(key, depth));
      made.pairs.push_back({std::move(key), std::move(value)});
    }
  }

  Result<YamlNode> value_of(const YamlNode& key, int depth) {
    const Next next(parser_);
    if (next.get() == nullptr) return broken();
    // An absent value has no place of its own: it is named by its key.
    here_.line = key.line;
    here_.column = key.column;
    see(next.get());
    return node(next.get(), depth + 1);
  }

  tl::unexpected<Error> broken() {
    auto result = no_stream_error();
    if (!result) return tl::unexpected<Error>(std::move(result).error());
    return fail_at(file_, here_, "not valid YAML: it ends in the middle of something");
  }

  static int depth_of(const YamlNode& node) {
    int deepest = 0;
    for (const auto& item : node.items) deepest = std::max(deepest, depth_of(item));
    for (const auto& pair : node.pairs) deepest = std::max(deepest, depth_of(pair.value));
    return deepest + 1;
  }

  struct Anchored {
    YamlNode node;
    std::size_t nodes = 1;
    int depth = 1;
  };

  fy_parser* parser_;
  fy_diag* diag_;
  std::string_view file_;
  YamlLimits limits_;
  YamlNode here_;
  std::size_t nodes_ = 0;
  std::map<std::string, Anchored> anchors_;
};

Result<> readable(std::string_view text, std::string_view file, const YamlLimits& limits) {
  if (text.size() > limits.bytes)
    return fail(Kind::usage, fmt::format("{}: {} bytes are more than the {} a file may have",
                                         printable(file), text.size(), limits.bytes));
  YamlNode at;
  for (std::size_t i = 0; i < text.size(); ++at.line) {
    const auto end = std::min(text.find('\n', i), text.size());
    const auto line = text.substr(i, end - i);
    if (!is_utf8(line) || line.find('\0') != std::string_view::npos)
      return fail_at(file, at, "this line is not UTF-8 text", "save the file as UTF-8");
    i = end + 1;
  }
  return {};
}

}  // namespace

Result<YamlNode> parse_yaml(std::string_view text, std::string_view file,
                            const YamlLimits& limits) {
  TRY_VOID(readable(text, file, limits));
  if (trimmed(text).empty()) return YamlNode{};
  const Diag diag = quiet_diag();
  fy_parse_cfg config{};
  config.flags = static_cast<fy_parse_cfg_flags>(
      static_cast<unsigned>(FYPCF_QUIET) | static_cast<unsigned>(FYPCF_COLLECT_DIAG) |
      static_cast<unsigned>(FYPCF_DEFAULT_VERSION_1_2) | static_cast<unsigned>(FYPCF_JSON_NONE));
  config.diag = diag.get();
  const Parser parser(fy_parser_create(&config));
  if (!diag || !parser || fy_parser_set_string(parser.get(), text.data(), text.size()) != 0)
    return fail(Kind::internal, "the YAML reader could not be started");
  return Builder(parser.get(), diag.get(), file, limits).document();
}

const YamlNode* find(const YamlNode& map, std::string_view key) {
  for (const auto& pair : map.pairs)
    if (pair.key.text == key) return &pair.value;
  return nullptr;
}

std::string place_of(std::string_view file, const YamlNode& node) {
  return fmt::format("{}:{}:{}", printable(file), node.line, node.column);
}

tl::unexpected<Error> fail_at(std::string_view file, const YamlNode& node, std::string what,
                              std::string fix) {
  auto failed = fail(Kind::usage, std::move(what), std::move(fix));
  failed.value().where = place_of(file, node);
  return failed;
}

}  // namespace muster::spec
