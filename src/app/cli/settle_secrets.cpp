#include "app/cli/settle_secrets.hpp"

#include "base/text.hpp"
#include "edge/fs/secrets.hpp"

namespace muster {

Result<> take_secret(const Context& context, const std::string& name, std::string& value) {
  const auto secret = fs::secret_ref(value);
  if (!secret || secret->from != fs::SecretRef::From::env) return {};
  const auto here = context.env.find(secret->name);
  if (here == context.env.end())
    return fail(
        Kind::usage,
        fmt::format("variable {}: {} is not set here", printable(name), printable(secret->name)),
        fmt::format("set it: export {}=VALUE", printable(secret->name)));
  value = here->second;
  return {};
}

Result<> settle_secrets(const Context& context, Environment& env) {
  const fs::Secrets secrets(context.paths.state + "/secrets");
  for (auto& [name, value] : env) {
    TRY_VOID(take_secret(context, name, value));
    if (const auto secret = fs::secret_ref(value))
      TRY_VOID(within(secrets.get(*secret), fmt::format("variable {}", printable(name))));
  }
  return {};
}

}  // namespace muster
