#include "launcher/hosts/hostfile.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

/// "a:2 b:1": the hosts as in a list, or the error.
std::string read(std::string_view text) {
    const auto hosts = parse_hostfile(text, "hostfile");
    if (!hosts) return hosts.error().text;
    std::string all;
    for (const HostEntry& host : *hosts) all += (all.empty() ? "" : " ") + host.text();
    return all;
}

TEST(Hostfile, FormsOfLines) {
    EXPECT_EQ(read("a slots=2\nb slots=1\n"), "a:2 b:1");
    EXPECT_EQ(read("a:2\nb:3\n"), "a:2 b:3");
    EXPECT_EQ(read("a\nb\n"), "a b");
    EXPECT_EQ(read("ann@a slots=2\nbob@b:3"), "ann@a:2 bob@b:3");
    EXPECT_EQ(read("n[1-3] slots=2\n"), "n1:2 n2:2 n3:2");
    EXPECT_EQ(read("n[1-2]:2,m\n"), "n1:2 n2:2 m");
    EXPECT_EQ(read("z slots=1\na slots=1\nm slots=1\n"), "z:1 a:1 m:1") << "in its own order";
}

TEST(Hostfile, BlanksCommentsAndLineEnds) {
    EXPECT_EQ(read("# the whole rack\n\na slots=1   # the first\n   \n  b   slots=2\n#c slots=4\n"), "a:1 b:2");
    EXPECT_EQ(read("a\tslots=2\r\nb slots=1\r\n"), "a:2 b:1");
    EXPECT_EQ(read("a slots=1\nb slots=1"), "a:1 b:1");
    EXPECT_EQ(read("\xEF\xBB\xBF"
                   "a\n"),
              "a");
    EXPECT_EQ(read("a#b\n"), "a");
    EXPECT_EQ(read("a slots=2 max_slots=4\nb slots=1 max-slots=1\n"), "a:2 b:1") << "of Open MPI";
    EXPECT_EQ(read("a slots = 2\nb slots= 3 max_slots =4 # c\n  c slots\t=\t1\n"), "a:2 b:3 c:1");
    EXPECT_EQ(read("a max_slots=4 slots=2\nb max-slots=3 \n"), "a:2 b");
}

TEST(Hostfile, ABadLineIsNamedByItsNumber) {
    EXPECT_EQ(read("a slots=2\nb slots=x\n"),
              "hostfile:2: slots=x, expected slots=N with N from 1 to 65536 after the host, or nothing");
    for (const char* word : {"slots", "slots=", "slots=-1", "slots=0", "speed=fast", "slot=2", "SLOTS=2"})
        EXPECT_EQ(read("a slots=2\n\n# c\nb " + std::string(word) + "\n"),
                  "hostfile:4: " + std::string(word) +
                      ", expected slots=N with N from 1 to 65536 after the host, or nothing");
    EXPECT_EQ(read("a binding=user:0+2\n"),
              "hostfile:1: binding=user:0+2, expected slots=N or nothing after the host: --bind binds workers");
    EXPECT_EQ(read("a slots=2 x\n"), "hostfile:1: x, expected nothing after slots=N, or max_slots=M from N on");
    EXPECT_EQ(read("a slots=2 max_slots=1\n"),
              "hostfile:1: max_slots=1, expected nothing after slots=N, or max_slots=M from N on");
    EXPECT_EQ(read("a max_slots=1 slots=2\n"),
              "hostfile:1: max_slots=1, expected nothing after slots=N, or max_slots=M from N on");
    EXPECT_EQ(read("a slots =\n"),
              "hostfile:1: slots=, expected slots=N with N from 1 to 65536 after the host, or nothing");
    EXPECT_EQ(read("a slots=2 max_slots=4 x\n"), "hostfile:1: x, expected nothing after max_slots=M");
    EXPECT_EQ(read("a:2 slots=2\n"), "hostfile:1: a:2 and slots=2, expected one of them");
    EXPECT_TRUE(read("a slots=1\nn[3-1] slots=2\n").starts_with("hostfile:2: n[3-1]: range 3-1"));
    EXPECT_TRUE(read("a:two\n").starts_with("hostfile:1: a:two: expected HOST:SLOTS"));
    EXPECT_TRUE(read("a\na, b\n").starts_with("hostfile:2: an empty name"));
}

TEST(Hostfile, AHostHasOneLine) {
    EXPECT_EQ(read("gpu7 slots=1\ngpu8\ngpu7 slots=2\n"),
              "hostfile:3: host gpu7 is in line 1 already, expected each host once; gpu7 slots=2 has two slots");
    EXPECT_EQ(read("ann@a\nbob@a\n"),
              "hostfile:2: host a is in line 1 already, expected each host once; a slots=2 has two slots");
    EXPECT_EQ(read("\nn[1-3],n2\n"),
              "hostfile:2: host n2 is in line 2 already, expected each host once; n2 slots=2 has two slots");
}

TEST(Hostfile, NoHosts) {
    for (const char* text : {"", "\n# nobody\n\n", "#a"})
        EXPECT_EQ(read(text), "hostfile: no hosts, expected lines as HOST, HOST:N or HOST slots=N");
}

TEST(Hostfile, TheLimitHoldsForAllLinesTogether) {
    EXPECT_EQ(read("n[1-100000]\nm[1-100000]\n"), "hostfile:2: too many hosts, expected at most 131072 in a file");
}

TEST(Wcoll, IsAHostfileWithoutIncludedFiles) {
    const auto hosts = parse_wcoll("# one a line\nn[1-2]\nm\n#include\n", "wcoll");
    ASSERT_TRUE(hosts);
    EXPECT_EQ(*hosts, (std::vector<HostEntry>{{"n1"}, {"n2"}, {"m"}}));
    EXPECT_EQ(parse_wcoll("n1\n#include more\n", "wcoll").error().text,
              "wcoll:2: #include more, expected the hosts themselves: included files are not read");
    EXPECT_EQ(parse_wcoll("n1\nn1\n", "wcoll").error().text,
              "wcoll:2: host n1 is in line 1 already, expected each host once; n1 slots=2 has two slots");
}

}  // namespace
}  // namespace dlaunch::launcher
