#include "app/cli/documents.hpp"

#include "app/cli/output.hpp"
#include "base/text.hpp"
#include "core/render/yaml.hpp"

namespace muster {

Result<> print_documents(Context& context, const std::vector<std::string>& documents) {
  if (context.globals.format == Format::json)
    return print_record(context, fmt::format(R"({{"apiVersion":"v1","kind":"List","items":[{}]}})",
                                             join(documents, ",")));
  for (std::size_t i = 0; i < documents.size(); ++i) {
    TRY(const auto text, render::to_yaml(documents[i]));
    context.out->write((i == 0 ? "" : "---\n") + text);
  }
  return {};
}

}  // namespace muster
