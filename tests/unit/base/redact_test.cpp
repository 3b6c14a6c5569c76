#include "base/redact.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string clean(std::string_view text) { return redacted(text, {"hunter22", "abc"}); }

TEST(Redact, KnownValuesGoWhereverTheyAre) {
  EXPECT_EQ(clean("x hunter22y"), "x [redacted]y");
  EXPECT_EQ(clean("abc"), "abc") << "too short to be looked for";
}

TEST(Redact, WhatFollowsATellingNameGoes) {
  EXPECT_EQ(clean("HF_TOKEN=hf_123 next"), "HF_TOKEN=[redacted] next");
  EXPECT_EQ(clean(R"({"api_key":"k v","n":1})"), R"({"api_key":"[redacted]","n":1})");
  EXPECT_EQ(clean("https://a.blob/c?sv=2020&sig=abc%3D&se=1"),
            "https://a.blob/c?sv=2020&sig=[redacted]&se=1");
  EXPECT_EQ(clean("AccountName=x;AccountKey=Zm9v==;End=y"),
            "AccountName=x;AccountKey=[redacted];End=y");
  EXPECT_EQ(clean("password: p4ss"), "password: [redacted]");
  EXPECT_EQ(clean(R"(\"token\":\"inner\")"), R"(\"token\":\"[redacted]\")");
}

TEST(Redact, ProofsAndLoginsGo) {
  EXPECT_EQ(clean("Authorization: Bearer eyJ.x.y ok"), "Authorization: Bearer [redacted] ok");
  EXPECT_EQ(clean("git clone https://me:pw@host/x"), "git clone https://[redacted]@host/x");
  EXPECT_EQ(clean("https://host/x@y"), "https://host/x@y");
}

TEST(Redact, OrdinaryWordsStay) {
  for (const char* text : {"tokens: 512", "step=3 loss=0.1", "http://h:80/p", "monkey=1", ""})
    EXPECT_EQ(clean(text), text);
}

}  // namespace
}  // namespace muster
