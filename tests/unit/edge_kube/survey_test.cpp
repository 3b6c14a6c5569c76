#include "edge/kube/survey.hpp"

#include <gtest/gtest.h>

#include "core/model/json.hpp"
#include "edge/kube/quantity.hpp"

namespace muster::kube {
namespace {

TEST(Quantity, AllTheWaysKubernetesWritesThem) {
  EXPECT_EQ(parse_quantity("2"), 2);
  EXPECT_EQ(parse_quantity("1930m"), 1.93);
  EXPECT_EQ(parse_quantity("16Gi"), 16.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(parse_quantity("129e6"), 129e6);
  EXPECT_EQ(parse_quantity("1E"), 1e18);
  EXPECT_EQ(parse_quantity("500k"), 500e3);
}

TEST(Quantity, WhatIsNone) {
  for (const char* text : {"", "x", "1 Gi", "1gi", "Gi", "inf", "nan", "1GiB"})
    EXPECT_FALSE(parse_quantity(text)) << text;
}

TEST(Survey, ANodeOfALargeCluster) {
  const auto parsed = parse_json(R"({
    "metadata": {"name": "gpu-1", "labels": {
      "node.kubernetes.io/instance-type": "Standard_ND96",
      "topology.kubernetes.io/zone": "w-1",
      "kubernetes.azure.com/scalesetpriority": "spot"}},
    "spec": {"taints": [
      {"key": "sku", "value": "gpu", "effect": "NoSchedule"},
      {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]},
    "status": {
      "allocatable": {"cpu": "95500m", "memory": "900Gi", "nvidia.com/gpu": "8", "rdma/ib": "0",
                      "pods": "250", "hugepages-1Gi": "0"},
      "conditions": [{"type": "DiskPressure", "status": "False"},
                     {"type": "Ready", "status": "True"}]}})");
  const auto node = read_node(parsed->as_object());
  EXPECT_EQ(node.name, "gpu-1");
  EXPECT_EQ(node.type, "Standard_ND96");
  EXPECT_EQ(node.zone, "w-1");
  EXPECT_EQ(node.cpus.count, 95'500);
  EXPECT_EQ(node.memory.count, std::int64_t{900} << 30);
  EXPECT_EQ(node.devices, (std::map<std::string, std::int64_t>{{"nvidia.com/gpu", 8}}));
  EXPECT_EQ(node.taints, std::vector<std::string>{"sku=gpu:NoSchedule"});
  EXPECT_TRUE(node.is_ready);
  EXPECT_TRUE(node.is_open);
  EXPECT_TRUE(node.is_spot);
}

TEST(Survey, ANodeThatSaysNothing) {
  const auto node = read_node({});
  EXPECT_EQ(node.cpus.count, 0);
  EXPECT_FALSE(node.is_ready);
  EXPECT_TRUE(node.devices.empty());
}

}  // namespace
}  // namespace muster::kube
