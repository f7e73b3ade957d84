#include "rendezvous/store/client/hash_store.hpp"

#include "tests/unit/rendezvous/store/client/stores_fixture.hpp"

namespace dlaunch::store {
namespace {

struct Hash {
    HashStore one;
    Store& store() { return one; }
    Store& another() { return one; }
};

INSTANTIATE_TYPED_TEST_SUITE_P(HashStore, AnyStore, Hash);

}  // namespace
}  // namespace dlaunch::store
