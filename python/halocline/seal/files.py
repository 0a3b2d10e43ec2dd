# SPDX-License-Identifier: Apache-2.0
"""Reading and writing objects of SEAL.

A file of SEAL does not say what it holds: the caller names the kind.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar, cast, get_args

from .. import _core
from ..base import limits
from ..base.errors import InvalidArgument, WrongType
from ..base.files import OWNER, Path, file_only, read_file, write_file
from ..base.values import byte_string, expect
from .engine import DeviceCiphertext, DevicePlaintext
from .objects import (
    Ciphertext,
    GaloisKeys,
    Parameters,
    Plaintext,
    PublicKey,
    RelinKeys,
    SecretKey,
    core_parameters,
    read_limits,
)

Compression = Literal["none", "zlib", "zstd"]
"""How an object is packed; SEAL reads what it was built with, `none` always."""
Version = Literal["4.0", "4.1", "4.2", "4.3", "4.4"]
"""Version of SEAL in the file: 4.4 reads all, 4.0 to 4.3 read files of their own version only."""

KindT = TypeVar("KindT")

_READERS: dict[type[Any], Any] = {
    Ciphertext: _core.SealCiphertext.read,
    Plaintext: _core.SealPlaintext.read,
    PublicKey: _core.SealPublicKey.read,
    RelinKeys: _core.SealRelinKeys.read,
    GaloisKeys: _core.SealGaloisKeys.read,
}


_BYTE_KINDS: tuple[type[Any], ...] = (Parameters, *_READERS)


def load(path: Path, kind: type[KindT], parameters: Parameters | None = None) -> KindT:
    """An object of a file that SEAL 4.0 to 4.4 wrote, seeded or full, packed or not.

    kind: the class of the object, which a file of SEAL does not say.
    parameters: those that it was made with; for everything but parameters.

    Raises CorruptData for bytes that are no such object, or do not agree with the parameters; InvalidArgument
    for an object of another parameter set; IoError for what cannot be read; DeviceError where the library was
    built without the compression.
    """
    if kind is SecretKey:
        of = core_parameters(parameters, "seal.load: parameters")
        name = file_only(path, "seal.load of a secret key")
        core = _core.SealSecretKey.load(of, name, limits.SEAL_FILE, read_limits())
        return cast(KindT, SecretKey._hold(core, cast(Parameters, parameters)))
    return from_bytes(read_file(path, "seal.load", limits.SEAL_FILE), kind, parameters)


def from_bytes(data: bytes, kind: type[KindT], parameters: Parameters | None = None) -> KindT:
    """The same from bytes: all kinds but secret keys, which would stay in them."""
    content = byte_string(data, "seal.from_bytes")
    if kind is Parameters:
        return cast(KindT, Parameters._hold(_core.SealParameters.read(content, read_limits())))
    read = _READERS.get(kind)
    if read is None:
        names = ", ".join(f"seal.{each.__name__}" for each in _BYTE_KINDS)
        raise WrongType(f"seal: kind {kind!r}; expected one of {names}; seal.SecretKey from files only")
    of = core_parameters(parameters, "seal: parameters")
    holder: Any = kind
    return cast(KindT, holder._hold(read(of, content, read_limits()), parameters))


Storable = (
    Parameters
    | Ciphertext
    | Plaintext
    | PublicKey
    | RelinKeys
    | GaloisKeys
    | DeviceCiphertext
    | DevicePlaintext
)
"""What becomes bytes."""


def save(
    path: Path,
    value: Storable | SecretKey,
    *,
    compression: Compression = "none",
    version: Version = "4.4",
) -> None:
    """Writes an object as SEAL does. Secret keys get a file that only its owner may read, not encrypted.

    Objects on a device are downloaded first. Raises DeviceError where the library was built without the
    compression, IoError when the file cannot be written.
    """
    if isinstance(value, SecretKey):
        name = file_only(path, "seal.save of a secret key")
        value._core.save(name, _compression(compression), _minor(version))
        return
    content = to_bytes(value, compression=compression, version=version)
    if isinstance(value, Plaintext | DevicePlaintext):
        write_file(path, content, OWNER)
    else:
        write_file(path, content)


def to_bytes(value: Storable, *, compression: Compression = "none", version: Version = "4.4") -> bytes:
    """The bytes that `save` writes: all kinds but secret keys."""
    how, minor = _compression(compression), _minor(version)
    if isinstance(value, DeviceCiphertext | DevicePlaintext):
        value = value.store()
    kinds = (Parameters, Ciphertext, Plaintext, PublicKey, RelinKeys, GaloisKeys)
    if not isinstance(value, kinds):
        raise WrongType(f"seal: got {type(value).__name__}, expected an object of halocline.seal")
    return value._core.write(how, minor)


def _compression(name: str) -> int:
    known = get_args(Compression)
    if expect(name, str, "seal: compression") not in known:
        raise InvalidArgument(f"seal: compression {name!r}; expected one of: {', '.join(known)}")
    return known.index(name)


def _minor(version: str) -> int:
    known = get_args(Version)
    if expect(version, str, "seal: version") not in known:
        raise InvalidArgument(f"seal: version {version!r}; expected one of: {', '.join(known)}")
    return known.index(version)
