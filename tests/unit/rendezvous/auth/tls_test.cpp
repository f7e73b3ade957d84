#include "rendezvous/auth/tls.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/unit/rendezvous/auth/openssl_peer.hpp"

namespace dlaunch::auth {
namespace {

using State = Tls::State;
using Failure = Tls::Failure;

constexpr const char* kToken = "a-token-of-this-test";

TlsContextPtr context_of(const char* token = kToken) { return *TlsContext::of(Token(token)); }

std::size_t write(Tls& to, std::string text) {
    const iovec part{text.data(), text.size()};
    return to.write({&part, 1}, text.size());
}

std::string take(Tls& from) { return std::exchange(from.sealed(), {}); }

/// Feeds bytes in pieces, and returns what they contain.
std::string feed(Tls& to, std::string_view bytes, std::size_t piece = ~std::size_t{0}) {
    std::string plain;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
        to.feed(bytes.substr(0, piece));
        plain += to.plain();
    }
    return plain;
}

struct Pair {
    explicit Pair(const char* server_token = kToken, const char* client_token = kToken)
        : server(context_of(server_token), Tls::Side::server), client(context_of(client_token), Tls::Side::client) {}

    void meet(std::size_t piece = ~std::size_t{0}) {
        for (int turn = 0; turn < 4; ++turn) {
            feed(server, take(client), piece);
            feed(client, take(server), piece);
        }
    }
    /// A record of the client with this text.
    std::string sealed(const std::string& text) {
        write(client, text);
        return take(client);
    }

    Tls server, client;
};

TEST(Tls, CarriesBytesBothWaysHoweverTheyAreSplit) {
    for (std::size_t piece = 1; piece <= 300; piece = piece < 8 ? piece + 1 : piece * 3 / 2) {
        Pair pair;
        pair.meet(piece);
        ASSERT_EQ(pair.server.state(), State::open);
        ASSERT_EQ(pair.client.state(), State::open);
        write(pair.server, "pong");
        EXPECT_EQ(feed(pair.server, pair.sealed("ping"), piece), "ping");
        EXPECT_EQ(feed(pair.client, take(pair.server), piece), "pong");
    }
}

TEST(Tls, GathersPartsIntoRecordsUpToALimit) {
    Pair pair;
    pair.meet();
    std::string small(10, 'a'), large(40'000, 'b');
    const iovec parts[] = {{small.data(), small.size()}, {nullptr, 0}, {large.data(), large.size()}};
    EXPECT_EQ(pair.client.write(parts, 20'000), 20'000U);
    const std::string sealed = take(pair.client);
    EXPECT_LT(sealed.size(), 20'000U + 2 * 30);
    EXPECT_EQ(feed(pair.server, sealed), small + large.substr(0, 19'990));
}

TEST(Tls, WritesNothingBeforeTheHandshakeIsOver) {
    Pair pair;
    EXPECT_EQ(write(pair.client, "early"), 0U);
    EXPECT_EQ(pair.client.state(), State::handshake);
}

TEST(Tls, BothSidesKnowThatTheKeysDiffer) {
    Pair pair("token-of-the-server", "token-of-the-client");
    pair.meet();
    EXPECT_EQ(pair.server.state(), State::failed);
    EXPECT_EQ(pair.server.why(), Failure::other_key) << pair.server.why_text();
    EXPECT_EQ(pair.client.state(), State::failed);
    EXPECT_EQ(pair.client.why(), Failure::other_key) << pair.client.why_text();
}

TEST(Tls, AnEndInOrderIsToldFromACut) {
    Pair pair;
    pair.meet();
    EXPECT_EQ(pair.server.state(), State::open) << "a connection that is cut here stays so";
    pair.client.end();
    feed(pair.server, take(pair.client));
    EXPECT_EQ(pair.server.state(), State::ended);
    write(pair.server, "answer");
    EXPECT_EQ(feed(pair.client, take(pair.server)), "answer");
    EXPECT_EQ(write(pair.client, "late"), 0U);
}

TEST(Tls, ABitThatChangesAnywhereIsAFailure) {
    const std::string text = "to be or not to be";
    for (std::size_t at = 0; at < text.size() + 22; ++at) {
        Pair pair;
        pair.meet();
        std::string sealed = pair.sealed(text);
        sealed.at(at) = static_cast<char>(sealed.at(at) ^ 1);
        EXPECT_EQ(feed(pair.server, sealed), "");
        // A longer length in the head leaves the record incomplete.
        EXPECT_TRUE(pair.server.state() == State::failed || at == 3 || at == 4) << at;
    }
}

TEST(Tls, ARecordThatComesAgainOrOutOfOrderIsAFailure) {
    Pair again;
    again.meet();
    const std::string record = again.sealed("one");
    EXPECT_EQ(feed(again.server, record + record), "one");
    EXPECT_EQ(again.server.state(), State::failed);

    Pair swapped;
    swapped.meet();
    const std::string first = swapped.sealed("one"), second = swapped.sealed("two");
    EXPECT_EQ(feed(swapped.server, second + first), "");
    EXPECT_EQ(swapped.server.state(), State::failed);
}

TEST(Tls, BytesOfAnotherConnectionAreAFailure) {
    Pair one, other;
    one.meet();
    other.meet();
    EXPECT_EQ(feed(other.server, one.sealed("one")), "");
    EXPECT_EQ(other.server.state(), State::failed);
}

TEST(Tls, GarbageIsAFailureOnBothSides) {
    for (const char* garbage :
         {"GET / HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n", "\x16\x03\x01\x00\x05hello", "\x15\x03\x03\x00\x02\x02\x28"}) {
        const std::string bytes =
            garbage[0] == 'G' || garbage[0] == 'S' ? garbage : std::string(garbage, garbage[0] == '\x16' ? 10 : 7);
        Pair pair;
        feed(pair.server, bytes);
        feed(pair.client, bytes);
        EXPECT_EQ(pair.server.state(), State::failed) << bytes;
        EXPECT_EQ(pair.client.state(), State::failed) << bytes;
    }
}

TEST(Tls, OneFailureDoesNotTouchAnotherConnection) {
    Pair honest;
    honest.meet();
    const std::string ping = honest.sealed("ping");
    Pair stranger("token-of-the-server", "token-of-the-client");
    stranger.meet();
    ASSERT_EQ(stranger.server.state(), State::failed);
    ERR_put_error(ERR_LIB_SSL, 0, SSL_R_BAD_LENGTH, "", 0);  // as another library in this thread could leave it
    EXPECT_EQ(feed(honest.server, ping), "ping");
    EXPECT_EQ(write(honest.server, "pong"), 4U);
    EXPECT_EQ(honest.server.state(), State::open);
}

TEST(Tls, AnOpenConnectionIsSmall) {
    Pair pair;
    pair.meet();
    EXPECT_LT(pair.server.memory(), 20U * 1024);
}

// --- strangers that speak TLS ---------------------------------------------------------------------------------------

TEST(Tls, MeetsAnyProgramThatHasTheKey) {
    offer(kToken);
    OpenSslPeer peer(offers_key);
    Tls server(context_of(), Tls::Side::server);
    peer.meet(server, true);
    EXPECT_EQ(server.state(), State::open) << server.why_text();
    SSL_write(peer.ssl(), "ping", 4);
    EXPECT_EQ(feed(server, peer.take()), "ping");
}

TEST(Tls, AHelloWithoutTheKeysNameGetsAnAlertAndNoMore) {
    const auto is_refused = [](OpenSslPeer& peer) {
        Tls server(context_of(), Tls::Side::server);
        SSL_set_connect_state(peer.ssl());
        SSL_do_handshake(peer.ssl());
        server.feed(peer.take());
        EXPECT_EQ(server.state(), State::failed);
        EXPECT_EQ(server.why(), Failure::no_key) << server.why_text();
        EXPECT_EQ(server.sealed(), std::string("\x15\x03\x03\x00\x02\x02\x28", 7));
    };
    OpenSslPeer no_key;
    is_refused(no_key);
    offer(kToken, "Client_identity");
    OpenSslPeer other_name(offers_key);
    is_refused(other_name);
    OpenSslPeer old([](SSL_CTX* context) { SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION); });
    is_refused(old);
}

/// The key is checked before a group is negotiated, which would cost a second hello and the state for it.
TEST(Tls, AnotherKeyIsRefusedBeforeAnotherGroupIsAskedFor) {
    offer("another-token-of-this-test");
    OpenSslPeer peer([](SSL_CTX* context) {
        offers_key(context);
        SSL_CTX_set1_groups_list(context, "P-521");
    });
    Tls server(context_of(), Tls::Side::server);
    peer.meet(server, true);
    EXPECT_EQ(server.state(), State::failed);
    EXPECT_EQ(server.why(), Failure::other_key) << server.why_text();
}

TEST(Tls, EarlyDataIsNotTaken) {
    offer(kToken);
    offered_early_data = 1'000;
    OpenSslPeer peer(offers_key);
    Tls server(context_of(), Tls::Side::server);
    SSL_set_connect_state(peer.ssl());
    std::size_t written = 0;
    ASSERT_EQ(SSL_write_early_data(peer.ssl(), "early", 5, &written), 1);
    EXPECT_EQ(feed(server, peer.take()), "");
    peer.give(take(server));
    SSL_do_handshake(peer.ssl());
    EXPECT_EQ(SSL_get_early_data_status(peer.ssl()), SSL_EARLY_DATA_REJECTED);
    EXPECT_EQ(feed(server, peer.take()), "");
    EXPECT_EQ(server.state(), State::open);
}

TEST(Tls, AFloodOfKeyUpdatesIsAFailure) {
    offer(kToken);
    OpenSslPeer peer(offers_key);
    Tls server(context_of(), Tls::Side::server);
    peer.meet(server, true);
    for (int update = 0; update < 40 && server.state() == State::open; ++update) {
        SSL_key_update(peer.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED);
        SSL_do_handshake(peer.ssl());
        EXPECT_EQ(update < 32 ? State::open : State::failed, server.feed(peer.take())) << update;
    }
    EXPECT_EQ(server.state(), State::failed);
}

}  // namespace
}  // namespace dlaunch::auth
