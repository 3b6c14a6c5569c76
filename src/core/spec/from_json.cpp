#include "base/text.hpp"
#include "core/model/json.hpp"
#include "core/spec/submit_options.hpp"

namespace muster::spec {
namespace {

using Text = std::string_view;

Text view(json::string_view text) { return {text.data(), text.size()}; }

/// A scalar as the text a flag would have had.
Result<std::string> scalar_text(const json::value& value) {
  if (value.is_bool()) return std::string(value.get_bool() ? "true" : "false");
  if (value.is_int64()) return fmt::format("{}", value.get_int64());
  if (value.is_uint64()) return fmt::format("{}", value.get_uint64());
  if (value.is_double()) return fmt::format("{}", value.get_double());
  return bytes_from_json(value);
}

Result<> no_nul(Text text) {
  if (text.find('\0') == Text::npos) return {};
  return fail(Kind::usage, "it holds a NUL byte, which no argument or variable can carry");
}

Result<> read_command(SubmitOptions& options, const json::value& value) {
  if (!value.is_array())
    return fail(Kind::usage, "a command is a list of its words",
                R"(write "command":["python","train.py"], or "shell":"python train.py")");
  for (const auto& word : value.get_array()) {
    TRY(auto text, bytes_from_json(word));
    TRY_VOID(no_nul(text));
    options.command.push_back(std::move(text));
  }
  return {};
}

Result<> add_variable(SubmitOptions& options, std::string name, const json::value& value) {
  if (name.empty() || name.find('=') != std::string::npos)
    return fail(Kind::usage, fmt::format("\"{}\" cannot name a variable", printable(name)));
  TRY_VOID(no_nul(name));
  std::optional<std::string> text;
  if (!value.is_null()) {
    TRY(text, scalar_text(value));
    TRY_VOID(no_nul(*text));
  }
  options.env.emplace_back(std::move(name), std::move(text));
  return {};
}

/// {"A":"1","B":null}, or [["A","1"]] when a name is not UTF-8.
Result<> read_env(SubmitOptions& options, const json::value& value) {
  if (value.is_object()) {
    for (const auto& [name, text] : value.get_object())
      TRY_VOID(add_variable(options, std::string(name), text));
    return {};
  }
  if (!value.is_array()) return fail(Kind::usage, "env is an object of names and values");
  for (const auto& pair : value.get_array()) {
    if (!pair.is_array() || pair.get_array().size() != 2)
      return fail(Kind::usage, "env is an object, or a list of [name, value]");
    TRY(auto name, bytes_from_json(pair.get_array()[0]));
    TRY_VOID(add_variable(options, std::move(name), pair.get_array()[1]));
  }
  return {};
}

Result<> read_tags(SubmitOptions& options, const json::value& value) {
  if (!value.is_object()) return fail(Kind::usage, "tags is an object of names and values");
  for (const auto& [name, text] : value.get_object()) {
    TRY(options.tags[std::string(name)], scalar_text(text));
  }
  return {};
}

Result<> read_retries(SubmitOptions& options, const SubmitField& row, const json::value& value) {
  if (!value.is_object()) {
    TRY(const auto text, scalar_text(value));
    return row.set(options, text);
  }
  for (const auto& [name, count] : value.get_object()) {
    TRY(const auto text, scalar_text(count));
    TRY_VOID(row.set(options, fmt::format("{}={}", view(name), text)));
  }
  return {};
}

Result<> read_row(SubmitOptions& options, const SubmitField& row, const json::value& value) {
  if (row.field == "env") return read_env(options, value);
  if (row.field == "tags") return read_tags(options, value);
  if (row.field == "retries") return read_retries(options, row, value);
  TRY(const auto text, scalar_text(value));
  TRY_VOID(no_nul(text));
  return row.set(options, text);
}

/// A field is known by its own name and by the flag's, with - or _ between words.
bool is_named(const SubmitField& row, Text name) {
  std::string flag(row.flag);
  std::replace(flag.begin(), flag.end(), '-', '_');
  return name == row.field || (!flag.empty() && (name == flag || name == row.flag));
}

tl::unexpected<Error> unknown_field(Text name) {
  std::vector<std::string> known{"command"};
  for (const auto& row : submit_fields()) known.emplace_back(row.field);
  const auto near = nearest(name, known);
  return fail(Kind::usage, fmt::format("unknown field \"{}\"", printable(name)),
              near ? fmt::format("did you mean \"{}\"?", *near)
                   : fmt::format("known fields: {}", join(known, ", ")));
}

Result<> read_field(SubmitOptions& options, Text name, const json::value& value) {
  if (name == "command") return read_command(options, value);
  if (name == "schema") {
    if (value.is_int64() && value.get_int64() == 1) return {};
    return fail(Kind::usage, "only schema 1 is known", "use the newer muster that wrote it");
  }
  for (const auto& row : submit_fields())
    if (is_named(row, name)) return read_row(options, row, value);
  return unknown_field(name);
}

Result<> read_fields(SubmitOptions& options, const json::object& object) {
  for (const auto& [key, value] : object) {
    const auto name = view(key);
    if (value.is_null()) continue;  // the same as absent
    auto read = read_field(options, name, value);
    if (read) continue;
    if (read.error().what.find("field \"") == std::string::npos)
      read.error().what = fmt::format("field \"{}\": {}", printable(name), read.error().what);
    return read;
  }
  return {};
}

class Members {
 public:
  void add(Text name, json::value value) {
    object_[json::string_view(name.data(), name.size())] = std::move(value);
  }
  void add(Text name, const std::optional<std::string>& value) {
    if (value) add(name, bytes_to_json(*value));
  }
  void add(Text name, const std::optional<int>& value) {
    if (value) add(name, json::value(*value));
  }
  void add(Text name, const std::optional<Duration>& value) {
    if (value) add(name, json::value(fmt::format("{}us", value->count()).c_str()));
  }
  void add(Text name, bool value) {
    if (value) add(name, json::value(true));
  }
  std::string text() const { return json::serialize(object_); }

 private:
  json::object object_;
};

json::value env_json(const SubmitOptions& options) {
  json::array pairs;
  for (const auto& [name, value] : options.env)
    pairs.push_back(
        json::array{bytes_to_json(name), value ? bytes_to_json(*value) : json::value(nullptr)});
  return pairs;
}

json::value retries_json(const RetriesAsked& retries) {
  json::object object;
  if (retries.user) object["user"] = *retries.user;
  if (retries.infrastructure) object["infra"] = *retries.infrastructure;
  if (retries.memory) object["memory"] = *retries.memory;
  if (retries.hang) object["hang"] = *retries.hang;
  return object;
}

void add_texts(Members& members, const SubmitOptions& o) {
  members.add("shell", o.shell);
  members.add("cluster", o.cluster);
  members.add("name", o.name);
  members.add("queue", o.queue);
  members.add("experiment", o.experiment);
  members.add("key", o.key);
  members.add("dir", o.dir);
  members.add("snapshot", o.snapshot);
  members.add("setup", o.setup);
  members.add("requirements", o.requirements);
  members.add("image", o.image);
  if (o.spot) members.add("spot", std::optional(std::string(name_of(*o.spot))));
  if (o.keep) members.add("keep", std::optional(std::string(name_of(*o.keep))));
  if (o.signal_to) members.add("signal_to", std::optional(std::string(name_of(*o.signal_to))));
}

void add_numbers(Members& members, const SubmitOptions& o) {
  members.add("gpus", o.gpus);
  members.add("nodes", o.nodes);
  members.add("procs_per_node", o.procs_per_node);
  members.add("procs", o.procs);
  members.add("single", o.single);
  members.add("here", o.here);
  members.add("allow_racy", o.allow_racy);
  members.add("priority", o.priority);
  members.add("dataloader_workers", o.dataloader_workers);
  members.add("time_limit", o.time_limit);
  members.add("grace", o.grace);
  if (o.cpus) members.add("cpus", std::optional(fmt::format("{}m", o.cpus->count)));
  if (o.memory) members.add("memory", json::value(o.memory->count));
}

}  // namespace

Result<SubmitOptions> submit_options_from_json(std::string_view text,
                                               const SubmitOptions& defaults) {
  TRY(const auto value, parse_json(text));
  if (!value.is_object())
    return fail(Kind::usage, "a job is a JSON object", R"({"command":["python","train.py"]})");
  auto options = defaults;
  TRY_VOID(read_fields(options, value.get_object()));
  if (options.command.empty() && !options.shell)
    return fail(Kind::usage, "a job needs a command", R"({"command":["python","train.py"]})");
  return options;
}

std::string to_json(const SubmitOptions& options) {
  Members members;
  json::array command;
  for (const auto& word : options.command) command.push_back(bytes_to_json(word));
  if (!command.empty()) members.add("command", json::value(std::move(command)));
  add_texts(members, options);
  add_numbers(members, options);
  if (!options.env.empty()) members.add("env", env_json(options));
  json::object tags;
  for (const auto& [name, value] : options.tags) tags[name] = bytes_to_json(value);
  if (!tags.empty()) members.add("tags", json::value(std::move(tags)));
  auto retries = retries_json(options.retries);
  if (!retries.get_object().empty()) members.add("retries", std::move(retries));
  return members.text();
}

}  // namespace muster::spec
