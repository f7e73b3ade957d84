// Servers with certificates: those of an https client, and one that answers in place of a job's peer.

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "rendezvous/auth/tls.hpp"
#include "tests/unit/rendezvous/auth/openssl_peer.hpp"

namespace dlaunch::auth {
namespace {

using State = Tls::State;
using Failure = Tls::Failure;

template <class Object>
using Owned = std::unique_ptr<Object, void (*)(Object*)>;

/// A certificate that its own key has signed, for the name "etcd1" and the address 10.0.0.1.
struct Certificate {
    Certificate() : key(EVP_EC_gen("P-256"), EVP_PKEY_free), x509(X509_new(), X509_free) {
        X509_set_version(x509.get(), 2);
        X509_gmtime_adj(X509_getm_notBefore(x509.get()), -60);
        X509_gmtime_adj(X509_getm_notAfter(x509.get()), 3'600);
        X509_set_pubkey(x509.get(), key.get());
        X509_NAME* name = X509_get_subject_name(x509.get());
        const std::string text = "etcd1";
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(text.data()), -1,
                                   -1, 0);
        X509_set_issuer_name(x509.get(), name);
        const Owned<X509_EXTENSION> names(
            X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:etcd1,IP:10.0.0.1"), X509_EXTENSION_free);
        X509_add_ext(x509.get(), names.get(), -1);
        X509_sign(x509.get(), key.get(), EVP_sha256());
    }

    Owned<EVP_PKEY> key;
    Owned<X509> x509;
};

class TlsCertificate : public testing::Test {
protected:
    TlsCertificate() {
        std::FILE* file = std::fopen(path("ca").c_str(), "w");
        PEM_write_X509(file, own.x509.get());
        std::fclose(file);
        file = std::fopen(path("key").c_str(), "w");
        PEM_write_PrivateKey(file, own.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
        std::fclose(file);
    }
    ~TlsCertificate() override { std::filesystem::remove_all(folder); }

    [[nodiscard]] std::string path(const std::string& name) const { return folder + "/" + name; }

    /// A client with these files after its handshake with the server of `own`.
    std::unique_ptr<Tls> met(const TlsContextPtr& context, const std::string& name) {
        OpenSslPeer server([this](SSL_CTX* to) {
            SSL_CTX_use_certificate(to, own.x509.get());
            SSL_CTX_use_PrivateKey(to, own.key.get());
        });
        auto client = std::make_unique<Tls>(context, Tls::Side::client, name);
        server.meet(*client, false);
        return client;
    }

    std::string folder = [] {
        std::string name = "/tmp/dlaunch-tls-XXXXXX";
        return std::string(mkdtemp(name.data()));
    }();
    Certificate own;
};

TEST_F(TlsCertificate, IsAcceptedByNameAndAddress) {
    const auto context = TlsContext::of(HttpsFiles{.authorities = path("ca")});
    ASSERT_TRUE(context) << context.error().text;
    for (const char* name : {"etcd1", "10.0.0.1"}) EXPECT_EQ(met(*context, name)->state(), State::open) << name;
}

TEST_F(TlsCertificate, IsRefusedForAnotherName) {
    const auto context = TlsContext::of(HttpsFiles{.authorities = path("ca")});
    for (const char* name : {"etcd2", "10.0.0.2"}) {
        const auto client = met(*context, name);
        EXPECT_EQ(client->why(), Failure::certificate) << name;
        EXPECT_NE(client->why_text().find("mismatch"), std::string::npos) << client->why_text();
    }
}

TEST_F(TlsCertificate, OfAnUnknownAuthorityIsRefused) {
    const auto client = met(*TlsContext::of(HttpsFiles{}), "etcd1");
    EXPECT_EQ(client->state(), State::failed);
    EXPECT_EQ(client->why_text(), "certificate verify failed: self-signed certificate");
}

TEST_F(TlsCertificate, InPlaceOfTheKeyIsRefused) {
    const auto client = met(*TlsContext::of(Token("a-token-of-this-test")), "");
    EXPECT_EQ(client->state(), State::failed);
    EXPECT_EQ(client->why(), Failure::no_key) << client->why_text();
}

TEST_F(TlsCertificate, FilesThatAreWrongAreNamed) {
    const auto error = [](const HttpsFiles& files) {
        const auto context = TlsContext::of(files);
        return context ? "" : context.error().text;
    };
    EXPECT_EQ(error({.authorities = path("ca"), .certificate = path("ca"), .key = path("key")}), "");
    EXPECT_TRUE(error({.authorities = path("none")}).starts_with(path("none") + ": cannot be read as certificates"));
    EXPECT_TRUE(error({.certificate = path("key")}).starts_with(path("key") + ": cannot be read as a certificate"));
    EXPECT_TRUE(error({.certificate = path("ca")}).starts_with(path("ca") + ": cannot be read as the certificate's"));
}

}  // namespace
}  // namespace dlaunch::auth
