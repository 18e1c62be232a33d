// User additions to a manifest: patches, labels and variables. tests/e2e/kube_options.sh tests
// whole manifests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "launcher/kube/kube_names.h"
#include "launcher/kube/kube_pairs.h"
#include "launcher/kube/kube_patch.h"
#include "launcher/kube/manifest.h"

namespace dtl::kube_patch_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

template <class Act>
std::string error_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::string> patched(const std::string& patch) {
  std::vector<std::string> objects = {
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"x":1}})",
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"},"spec":{"x":1,"y":[1,2]}})"};
  apply_patches({{"p", 3, patch}}, "Job", objects);
  return objects;
}

TEST(KubePatch, IsForTheJobUnlessItNamesAnotherKind) {
  EXPECT_THAT(patched(R"({"spec":{"x":2}})")[1], HasSubstr(R"("x":2)"));
  EXPECT_THAT(patched(R"({"spec":{"x":2}})")[0], HasSubstr(R"("x":1)"));
  EXPECT_THAT(patched(R"({"kind":"Service","spec":{"x":2}})")[0], HasSubstr(R"("x":2)"));
  EXPECT_THAT(patched(R"({"metadata":{"name":"a","labels":{"b":"c"}}})")[1],
              HasSubstr(R"("labels":{"b":"c"})"));
}

TEST(KubePatch, MergesAsRfc7396Says) {
  EXPECT_THAT(patched(R"({"spec":{"x":null,"y":[3],"z":{"a":null,"b":1}}})")[1],
              HasSubstr(R"("spec":{"y":[3],"z":{"b":1}})"));
}

TEST(KubePatch, IsRefusedWhereItDoesNothing) {
  for (const char* patch :
       {R"({"kind":"Pod","spec":{"x":2}})", R"({"apiVersion":"v2","spec":{"x":2}})",
        R"({"metadata":{"name":"b"},"spec":{"x":2}})", R"({"metadata":{"namespace":"b"}})"}) {
    EXPECT_THAT(error_of([&] { patched(patch); }),
                AllOf(HasSubstr("p: patch 3: fits none of the objects"),
                      HasSubstr("kind Service (v1) named a, kind Job (batch/v1) named a")));
  }
  EXPECT_THAT(error_of([] { patched(R"({"spec":{"x":1}})"); }), HasSubstr("changes nothing"));
  EXPECT_THAT(error_of([] { patched(R"({"spec":{"q":null}})"); }), HasSubstr("changes nothing"));
  EXPECT_THAT(error_of([] { patched(R"({"kind":null})"); }), HasSubstr("its kind is not a text"));
  EXPECT_THAT(error_of([] { patched(R"({"metadata":null})"); }),
              HasSubstr("its metadata is not an object"));
}

TEST(KubePairs, LabelsAreWhatKubernetesTakes) {
  const KubePairs labels =
      parse_labels("--label", {"kueue.x-k8s.io/queue-name=team-a", "A_b.c=", "x=1"});
  EXPECT_EQ(labels,
            (KubePairs{{"kueue.x-k8s.io/queue-name", "team-a"}, {"A_b.c", ""}, {"x", "1"}}));
  for (const char* word : {"a", "=b", "/a=b", "a/=b", "a/b/c=d", "A.com/b=c", "-a=b", "a-=b",
                           "a b=c", "a=b c", "a=-b", "a=b=c", "a=é"}) {
    EXPECT_THAT(error_of([&] { parse_labels("--label", {word}); }),
                HasSubstr(std::string("--label ") + word))
        << word;
  }
  EXPECT_THAT(error_of([] { parse_labels("--label", {"a=" + std::string(64, 'b')}); }),
              HasSubstr("more than 63"));
  EXPECT_THAT(error_of([] {
                parse_labels("--node-selector", {"a=b", "a=c"});
              }),
              HasSubstr("--node-selector a=c: 'a' is given twice"));
}

TEST(KubePairs, VariablesAreThoseThatRanksInherit) {
  EXPECT_EQ(parse_variables({"A=b=c", "B="}), (KubePairs{{"A", "b=c"}, {"B", ""}}));
  EXPECT_THAT(error_of([] { parse_variables({"A"}); }), HasSubstr("--env A: '=' is missing"));
  EXPECT_THAT(error_of([] { parse_variables({"A=\xff"}); }),
              HasSubstr("--env A=\\xff: its value is not text"));
  EXPECT_THAT(error_of([] { parse_variables({"1a=b"}); }), HasSubstr("not the name of a variable"));
  EXPECT_THAT(error_of([] { parse_variables({"RANK=0"}); }),
              HasSubstr("dtlaunch sets RANK itself"));
  for (const char* word : {"DTL_TOKEN=x", "DTL_NNODES=2", "PET_NNODES=2", "SLURM_PROCID=1"}) {
    EXPECT_THAT(error_of([&] { parse_variables({word}); }), HasSubstr("ranks do not inherit"))
        << word;
  }
}

KubeJob torch_job(int restarts) {
  KubeJob job;
  job.kind = KubeKind::kPyTorchJob;
  job.name = "a";
  job.nodes = {4, 4};
  job.restarts = restarts;
  return job;
}

TEST(Manifest, RestartsOfPyTorchJobsEnd) {
  // 13: the first container's next restart, after three restarts of all four.
  EXPECT_THAT(manifest_of(torch_job(3)),
              AllOf(HasSubstr("backoffLimit: 13\n"), HasSubstr("restartPolicy: OnFailure\n"),
                    Not(HasSubstr("ExitCode"))));
  EXPECT_THAT(manifest_of(torch_job(0)),
              AllOf(HasSubstr("backoffLimit: 0\n"), HasSubstr("restartPolicy: Never\n")));
}

TEST(Manifest, NamesOfAnyFormAreQuoted) {
  KubeJob job = torch_job(0);
  job.patches = {{"p", 1, R"({"metadata":{"annotations":{"on":"x","a: b":"y","c/d":"z"}}})"}};
  EXPECT_THAT(manifest_of(job), HasSubstr("\"on\": x\n    \"a: b\": \"y\"\n    c/d: z\n"));
}

}  // namespace
}  // namespace dtl::kube_patch_test
