"""What leaves this machine is encrypted with a key that only the user's machines have: compressed,
then ChaCha20-Poly1305 (RFC 8439) with the machine's name as associated data. Pure.
"""

from __future__ import annotations

import base64
from importlib import import_module
from typing import Protocol, cast

import msgspec
import zstandard

from memorist.core.json_decoding import decode_json
from memorist.errors import InputError, UsageError
from memorist.machines.machine_merge import MachineSnapshot
from memorist.platforms.extra_installation import build_extra_install_command

KEY_BYTES = 32
NONCE_BYTES = 12
_HEADER = b"memorist-machine-1\n"
MAX_SNAPSHOT_BYTES = 256 * 1024 * 1024
"""Largest snapshot that is unpacked. Our choice."""


def encode_machine_key(drawn: bytes) -> str:
    """A key of KEY_BYTES random bytes, as text to be typed on the other machines."""
    return base64.urlsafe_b64encode(drawn).decode().rstrip("=")


class SnapshotCipher(Protocol):
    """Encrypts with a nonce and associated data, and refuses what was changed."""

    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes) -> bytes:
        """Data and tag."""
        ...

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes) -> bytes:
        """Raises InvalidTag for what was not encrypted with this key, nonce and associated data,
        ValueError for what is no nonce.
        """
        ...


def _open_cipher(key: str) -> SnapshotCipher:
    try:
        module = import_module("cryptography.hazmat.primitives.ciphers.aead")
    except ModuleNotFoundError as error:
        raise UsageError(
            "the user's own machines need the extra `machines`: "
            f"{build_extra_install_command('machines')}"
        ) from error
    try:
        raw = base64.urlsafe_b64decode(key.strip() + "=" * (-len(key.strip()) % 4))
    except ValueError as error:
        raise InputError("that is no key of memorist's machines") from error
    if len(raw) != KEY_BYTES:
        raise InputError("that is no key of memorist's machines")
    return cast("SnapshotCipher", module.ChaCha20Poly1305(raw))


def encrypt_snapshot(key: str, snapshot: MachineSnapshot, nonce: bytes) -> bytes:
    """Encrypt a snapshot, with NONCE_BYTES random bytes that are used once.

    Raises InputError for a bad key, UsageError without the extra.
    """
    plain = zstandard.ZstdCompressor().compress(msgspec.json.encode(snapshot))
    return _HEADER + nonce + _open_cipher(key).encrypt(nonce, plain, snapshot.machine.encode())


def decrypt_snapshot(key: str, machine: str, data: bytes) -> MachineSnapshot:
    """Decrypt what a machine of this name sealed. Raises InputError for anything else."""
    cipher = _open_cipher(key)
    invalid_tag = import_module("cryptography.exceptions").InvalidTag
    body = data.removeprefix(_HEADER)
    try:
        plain = cipher.decrypt(body[:NONCE_BYTES], body[NONCE_BYTES:], machine.encode())
        text = zstandard.ZstdDecompressor().decompress(plain, max_output_size=MAX_SNAPSHOT_BYTES)
        found = decode_json(text, as_type=MachineSnapshot)
    except (invalid_tag, ValueError, zstandard.ZstdError, msgspec.DecodeError) as error:
        raise InputError(
            f"what the machine {machine} left cannot be opened: another key, damaged, or "
            "a copy under another name"
        ) from error
    if found.machine != machine:
        raise InputError(f"what the machine {machine} left is another machine's")
    return found
