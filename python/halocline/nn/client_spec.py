# SPDX-License-Identifier: Apache-2.0
"""What a client must know of a compiled network to use it: everything but its weights.

The format is described in docs/reference/client_spec_format.md, with a list of what a file reveals. Files
come from strangers: sizes are limited and every field is checked before anything is made of it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..base import limits
from ..base.errors import CorruptData, Error, InsecureParameters, InvalidArgument, WrongType
from ..base.files import parse_json, read_file, write_file
from ..base.values import byte_string, expect, kind_of, path_text, positive, shown
from ..ckks.keys import RELINEARIZATION, KeyPlan
from ..ckks.params import Params
from .decision import LARGEST, NONE, Decision, decision_of
from .layers import Array
from .network import Network
from .places import Places, whole
from .tensor_layout import TensorLayout

FORMAT = "halocline-client-spec"
VERSION = 2
MAX_TEXT = 200
"""Characters of a name."""

_FIELDS = {"format", "version", "id", "made_by", "name", "parameters", "keys", "input", "output"}


@dataclasses.dataclass(frozen=True)
class InputSpec:
    """How an input becomes ciphertexts."""

    shape: tuple[int, ...]
    """Of one input: (channels, rows, columns) or (features,)."""
    places: Places
    """Of its values in the slots."""
    level: int
    """That ciphertexts are encrypted at."""
    mean: tuple[float, ...] = ()
    """Subtracted from each channel, in units of what the caller passes; empty where nothing is."""
    std: tuple[float, ...] = ()
    """Each channel is then divided by it; empty as `mean`."""
    range: tuple[float, float] | None = None
    """Smallest and largest value, after normalisation, that the network was made for; None: unknown."""

    def __post_init__(self) -> None:
        _check_shape(self.shape, self.places, "input")
        if len(self.mean) != len(self.std) or (self.mean and len(self.mean) != self.shape[0]):
            raise InvalidArgument(
                f"client spec: {len(self.mean)} means and {len(self.std)} deviations, expected one of each "
                f"for {self.shape[0]} channels, or none"
            )
        object.__setattr__(self, "mean", tuple(_number(each, "mean") for each in self.mean))
        object.__setattr__(self, "std", tuple(positive(each, "client spec: std") for each in self.std))
        if self.range is not None:
            low, high = (_number(each, "range") for each in self.range)
            object.__setattr__(self, "range", (low, high))
            if low > high:
                raise InvalidArgument(f"client spec: range {low} to {high}, expected low before high")

    def prepare(self, images: Array) -> Array:
        """Normalised inputs (count, *shape)."""
        if not self.mean:
            return images
        each = (-1, *(1,) * (images.ndim - 2))
        made: Array = (images - np.reshape(self.mean, each)) / np.reshape(self.std, each)
        return made


@dataclasses.dataclass(frozen=True)
class OutputSpec:
    """How decrypted slots become a result."""

    shape: tuple[int, ...]
    """Of one result."""
    places: Places
    """Of its values in the slots."""
    scale: float
    """Results are this times the encrypted ones."""
    limit: float = math.inf
    """Larger results do not fit in the modulus and come out wrong; infinite where none can be larger."""
    classes: tuple[str, ...] = ()
    """Names of the classes, in the order of their numbers; empty where they have none."""
    decision: Decision = dataclasses.field(default_factory=Decision)
    """How a result becomes a class."""

    def __post_init__(self) -> None:
        _check_shape(self.shape, self.places, "output")
        object.__setattr__(self, "scale", positive(self.scale, "client spec: output scale"))
        if self.limit != math.inf:
            object.__setattr__(self, "limit", positive(self.limit, "client spec: output limit"))
        expected = self.decision.classes(math.prod(self.shape))
        if self.classes and len(self.classes) != expected:
            raise InvalidArgument(
                f"client spec: {len(self.classes)} classes for results of shape {self.shape} by the rule "
                f"'{self.decision.rule}', expected {expected}"
            )
        for each in self.classes:
            _text(each, "class")


@dataclasses.dataclass(frozen=True)
class ClientSpec:
    """A network as its client sees it: `compiled.client_spec()` makes it, `nn.Client` uses it."""

    params: Params
    """Of keys and ciphertexts."""
    key_plan: KeyPlan
    """The evaluation keys that the server needs."""
    input: InputSpec
    """What is encrypted."""
    output: OutputSpec
    """What is decrypted."""
    name: str = ""
    """Any label; no part of what is done."""
    made_by: str = f"halocline {_core.version}"
    """Program and version that made it; a label too."""

    def __post_init__(self) -> None:
        expect(self.params, Params, "client spec: parameters")
        if expect(self.key_plan, KeyPlan, "client spec: keys").params != self.params:
            raise InvalidArgument("client spec: a key plan of other parameters; expected those of the spec")
        _check_keys(self.params, self.key_plan)
        for places, what in ((self.input.places, "input"), (self.output.places, "output")):
            if places.slots > self.params.slots:
                raise InvalidArgument(
                    f"client spec: {what} in {places.slots} slots, the parameters have {self.params.slots}"
                )
        whole(self.input.level, "client spec: input level", 0, self.params.max_level)
        for text, what in ((self.name, "name"), (self.made_by, "made_by")):
            _text(text, what, least=0)

    @property
    def id(self) -> str:
        """Hash of everything else, 32 hexadecimal digits: names this specification, no key and no weights."""
        return _id(self._content())

    def _content(self) -> dict[str, Any]:
        """All fields of the file but the identifier."""
        given, made = self.input, self.output
        return {
            "format": FORMAT,
            "version": VERSION,
            "made_by": self.made_by,
            "name": self.name,
            "parameters": json.loads(self.params.to_json(0)),
            "keys": [list(each) for each in self.key_plan.requests()],
            "input": {
                "shape": list(given.shape),
                "layout": given.places.to_json(),
                "level": given.level,
                "mean": list(given.mean),
                "std": list(given.std),
                "range": None if given.range is None else list(given.range),
            },
            "output": {
                "shape": list(made.shape),
                "layout": made.places.to_json(),
                "scale": made.scale,
                "limit": None if math.isinf(made.limit) else made.limit,
                "classes": list(made.classes),
                "decision": {"rule": made.decision.rule, "threshold": made.decision.threshold},
            },
        }

    def to_bytes(self) -> bytes:
        """The file: JSON, a line for each field."""
        content = self._content()
        lines = (
            f"{json.dumps(key)}: {json.dumps(value)}" for key, value in (content | _named(content)).items()
        )
        return ("{\n" + ",\n".join(lines) + "\n}\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes, *, allow_insecure: bool = False) -> ClientSpec:
        """What `to_bytes` wrote, checked completely.

        @throws CorruptData for everything else; InsecureParameters unless `allow_insecure`; InvalidArgument
            where it was written by a newer version
        """
        data = byte_string(data, "client spec")
        if len(data) > limits.CLIENT_SPEC:
            raise CorruptData(f"client spec: {len(data)} bytes, expected at most {limits.CLIENT_SPEC}")
        content = parse_json(data, "client spec")
        try:
            return _parsed(content, allow_insecure)
        except (CorruptData, InsecureParameters, _Newer):
            raise
        except Error as error:
            raise CorruptData(str(error)) from None
        except RecursionError:
            raise CorruptData("client spec: values nested too deeply") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file: as a whole or not at all."""
        write_file(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, allow_insecure: bool = False) -> ClientSpec:
        """Reads what `save` wrote; see `from_bytes`. Raises IoError too."""
        data = read_file(path, "client spec", limits.CLIENT_SPEC)
        try:
            return cls.from_bytes(data, allow_insecure=allow_insecure)
        except CorruptData as error:
            raise CorruptData(f"{path_text(path, 'client spec')}: {error}") from None

    def __str__(self) -> str:
        given, made = self.input, self.output
        keys = _core.format_bytes(self.key_plan.nbytes(seeded=True))
        rows = [
            f"client specification {self.name!r} ({self.id}), made by {self.made_by}",
            f"  parameters  {self.params!r}",
            f"  keys        {len(self.key_plan)}, {keys} to send",
            f"  input       {_shape(given.shape)}, {_held(given.places)} at level {given.level}",
            f"  result      {_shape(made.shape)}, {_held(made.places)}",
        ]
        if given.range is not None:
            rows.insert(4, f"  range       {given.range[0]:g} to {given.range[1]:g}")
        if made.classes:
            rows.append(f"  classes     {', '.join(made.classes)}")
        return "\n".join(rows)


class _Newer(InvalidArgument):
    """Written by a newer version."""


def _shape(shape: Sequence[int]) -> str:
    return " x ".join(str(each) for each in shape)


def _held(places: Places) -> str:
    several = "" if places.images == 1 else f"{places.images} at once, "
    return f"{several}{places.ciphertexts} ciphertext{'s' * (places.ciphertexts > 1)} of {places.slots} slots"


def _id(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _named(content: Mapping[str, Any]) -> dict[str, str]:
    return {"id": _id(content)}


def _check_shape(shape: Any, places: Places, what: str) -> None:
    if not isinstance(shape, tuple) or places.shape[1:] != shape:
        raise InvalidArgument(f"client spec: {what} of shape {shape}, but places of {places.shape[1:]}")


def _check_keys(params: Params, plan: KeyPlan) -> None:
    """Only keys that these parameters have, each once."""
    requests = plan.requests()
    if len(requests) > limits.CLIENT_SPEC_KEYS or len(plan.levels) != len(requests):
        raise InvalidArgument(
            f"client spec: {len(requests)} evaluation keys of {len(plan.levels)} kinds, expected at most "
            f"{limits.CLIENT_SPEC_KEYS}, each once"
        )
    for element, _ in requests:
        if not params._core.is_key_element(element):
            raise InvalidArgument(
                f"client spec: a key of element {element}, which parameters '{params.name}' do not have; "
                f"expected odd ones up to {2 * params.n - 1} ({RELINEARIZATION} for relinearization)"
            )


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongType(f"client spec: {what} is {kind_of(value)}, expected a number")
    if not -1e300 < value < 1e300:
        raise InvalidArgument(f"client spec: {what} is {shown(value)}, expected a number within 1e300 of 0")
    return float(value)


def _text(value: Any, what: str, least: int = 1) -> str:
    """Text that is safe to print: no control characters, which terminals obey."""
    text = expect(value, str, f"client spec: {what}")
    if not text.isprintable() or not least <= len(text) <= MAX_TEXT:
        raise InvalidArgument(
            f"client spec: {what} {text[:40]!r}, expected {least} to {MAX_TEXT} printable characters"
        )
    return text


def client_spec_of(
    compiled: Network,
    key_plan: KeyPlan,
    *,
    name: str = "",
    classes: Sequence[str] | None = None,
    input_range: tuple[float, float] | None = None,
) -> ClientSpec:
    """The specification of a compiled network; `CompiledModel.client_spec` says what the arguments are."""
    model, program = compiled.model, compiled.program
    known = input_range or compiled.ranges.input_range
    mean, std = model.normalization or ((), ())
    places = _places_of(program.input_layout, model.input_shape)
    taken = InputSpec(
        model.input_shape,
        places,
        program.schedule.fresh_level,
        tuple(float(each) for each in mean),
        tuple(float(each) for each in std),
        None if known is None else (_number(known[0], "range"), _number(known[1], "range")),
    )
    listed = model.metadata.get("classes", "").split(",") if classes is None else classes
    names = tuple(each for each in listed if each != "")
    made = OutputSpec(
        model.output_shape,
        _places_of(program.output_layout, model.output_shape),
        float(program.output_scale),
        float(program.output_limit),
        names,
        decision_of(model.metadata, math.prod(model.output_shape), named=bool(names)),
    )
    return ClientSpec(compiled.params, key_plan, taken, made, name)


def _places_of(layout: TensorLayout, shape: tuple[int, ...]) -> Places:
    """Of all images that share ciphertexts."""
    return Places.of(layout.places(layout.batch).reshape(layout.batch, *shape), layout.slots, layout.parts)


# Files


def _fields(value: Any, names: set[str], what: str) -> dict[str, Any]:
    """An object with exactly these fields."""
    if not isinstance(value, dict) or set(value) != names:
        raise CorruptData(f"{what}: expected an object with the fields {', '.join(sorted(names))}")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise CorruptData(f"client spec: {what} is {kind_of(value)}, expected a list")
    return value


def _parsed(content: Any, allow_insecure: bool) -> ClientSpec:
    """A specification of the objects of a file."""
    version = content.get("version") if isinstance(content, dict) else None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CorruptData(
            "client spec: no specification of a network; expected what client_spec().save wrote"
        )
    if isinstance(version, int) and version > VERSION:
        raise _Newer(
            f"client spec: version {shown(version)}, this package reads up to {VERSION}; update it, or "
            "have the server write an older one"
        )
    content = _fields(content, _FIELDS, "client spec")
    if version not in (1, VERSION) or isinstance(version, bool):
        raise CorruptData(f"client spec: version {shown(version)}, expected 1 or {VERSION}")
    if content["id"] != _id({key: value for key, value in content.items() if key != "id"}):
        raise CorruptData("client spec: its content does not match its identifier: it was changed on the way")
    params = Params.from_json(json.dumps(content["parameters"]), allow_insecure=allow_insecure)
    return ClientSpec(
        params,
        _key_plan(content["keys"], params),
        _input(content["input"]),
        _output(content["output"], version),
        _text(content["name"], "name", least=0),
        _text(content["made_by"], "made_by", least=0),
    )


def _key_plan(keys: Any, params: Params) -> KeyPlan:
    pairs = _list(keys, "keys")
    if len(pairs) > limits.CLIENT_SPEC_KEYS:
        raise CorruptData(f"client spec: {len(pairs)} keys, expected at most {limits.CLIENT_SPEC_KEYS}")
    largest = _core.largest_key_element(params._core)
    for each in pairs:
        if len(_list(each, "key")) != 2:
            raise CorruptData("client spec: a key is a Galois element and a level")
        whole(each[0], "client spec: Galois element", 1, largest)
        whole(each[1], "client spec: level of a key", 0, params.top_level)
    return KeyPlan(params, pairs)


def _places(value: Any, shape: tuple[int, ...], what: str) -> Places:
    names = {"version", "images", "slots", "ciphertexts", "axes"}
    layout = _fields(value, names, f"client spec: layout of the {what}")
    if layout["version"] != 1 or isinstance(layout["version"], bool):
        raise CorruptData(f"client spec: layout of version {shown(layout['version'])}, expected 1")
    images = whole(layout["images"], "client spec: images at once", 1, limits.CLIENT_SPEC_PLACES)
    return Places((images, *shape), layout["axes"], layout["slots"], layout["ciphertexts"])


def _dimensions(value: Any, what: str) -> tuple[int, ...]:
    listed = _list(value, f"shape of the {what}")
    if not 1 <= len(listed) <= 4:
        raise CorruptData(f"client spec: {what} of {len(listed)} dimensions, expected 1 to 4")
    return tuple(whole(each, f"client spec: {what}", 1, limits.CLIENT_SPEC_PLACES) for each in listed)


def _numbers(value: Any, what: str) -> tuple[float, ...]:
    listed = _list(value, what)
    return tuple(_number(each, what) for each in listed)


def _input(value: Any) -> InputSpec:
    names = {"shape", "layout", "level", "mean", "std", "range"}
    given = _fields(value, names, "client spec: input")
    shape = _dimensions(given["shape"], "input")
    pair = None if given["range"] is None else _numbers(given["range"], "range")
    if pair is not None and len(pair) != 2:
        raise CorruptData("client spec: range: expected the smallest and the largest value")
    return InputSpec(
        shape,
        _places(given["layout"], shape, "input"),
        whole(given["level"], "client spec: input level", 0, 1 << 16),
        _numbers(given["mean"], "mean"),
        _numbers(given["std"], "std"),
        None if pair is None else (pair[0], pair[1]),
    )


def _output(value: Any, version: int) -> OutputSpec:
    names = {"shape", "layout", "scale", "limit", "classes"} | ({"decision"} if version > 1 else set())
    made = _fields(value, names, "client spec: output")
    shape = _dimensions(made["shape"], "output")
    return OutputSpec(
        shape,
        _places(made["layout"], shape, "output"),
        _number(made["scale"], "output scale"),
        math.inf if made["limit"] is None else _number(made["limit"], "output limit"),
        tuple(_text(each, "class") for each in _list(made["classes"], "classes")),
        _decision(made["decision"]) if version > 1 else Decision(LARGEST if math.prod(shape) > 1 else NONE),
    )


def _decision(value: Any) -> Decision:
    made = _fields(value, {"rule", "threshold"}, "client spec: decision")
    if not isinstance(made["rule"], str):
        raise CorruptData(f"client spec: rule is {kind_of(made['rule'])}, expected a text")
    return Decision(made["rule"], _number(made["threshold"], "threshold"))
