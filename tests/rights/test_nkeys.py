"""Keys are spelled as NATS spells them."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from keepstep.runtime.nkeys import KeyPair, Role, is_public

SEED = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"  # of the documentation of NATS
PUBLIC = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"


def test_a_seed_of_the_documentation_has_the_public_key_of_the_documentation() -> None:
    key = KeyPair.read(SEED)
    assert (key.public, key.seed) == (PUBLIC, SEED)
    assert is_public(PUBLIC, Role.USER)
    assert not is_public(PUBLIC, Role.ACCOUNT)


@settings(deadline=None)  # the first call loads the library
@given(st.binary(min_size=32, max_size=32), st.sampled_from(Role), st.binary())
def test_a_key_survives_being_written_and_its_signature_is_its_own(raw: bytes, role: Role, text: bytes) -> None:
    key = KeyPair(role, raw)
    again = KeyPair.read(key.seed)
    assert again.public == key.public
    assert key.seed.startswith("S" + key.public[0])
    Ed25519PublicKey.from_public_bytes(_raw(key.public)).verify(again.sign(text), text)


def _raw(public: str) -> bytes:
    return base64.b32decode(public + "=" * (-len(public) % 8))[1:-2]


@pytest.mark.parametrize("seed", ["", "SUA", PUBLIC, SEED[:-2] + "AY", SEED.lower(), SEED + "A" * 8, "1" * 58])
def test_what_is_no_seed_is_refused_and_not_repeated(seed: str) -> None:
    with pytest.raises(ValueError, match="NATS key") as told:
        KeyPair.read(seed)
    assert not seed or seed not in str(told.value)
