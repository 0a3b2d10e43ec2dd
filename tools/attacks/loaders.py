# SPDX-License-Identifier: Apache-2.0
"""Mutated bytes for every loader, half of them with checksums made right again.

A loader takes the bytes or refuses them with an exception of the package, and takes little more memory than
they have. What it takes must be usable: an accepted ciphertext can be decrypted, an accepted trace replayed.
"""

from __future__ import annotations

import json
import lzma
import resource
from collections.abc import Callable
from pathlib import Path

import halocline as hc
import numpy as np
from attacks.case import Case, Finding, outcome
from attacks.client_specs import client_spec_targets
from attacks.key_node import key_node_targets
from attacks.retrieval import retrieval_targets
from attacks.samples import World, rotations
from attacks.seal_objects import seal_targets
from attacks.seals import mutate, seal_container, seal_plan
from attacks.target import Target
from halocline import _core

MEMORY_FACTOR = 64
MEMORY_FLOOR = 256 << 20
"""Bytes by which the process may grow for an input: the factor times its bytes, and tables made once."""


class Loaders:
    """All targets, made once."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.targets = (
            self._containers()
            | self._plans_and_traces()
            | self._texts()
            | retrieval_targets(world)
            | key_node_targets(world)
            | seal_targets()
            | client_spec_targets(world)
        )
        for name, target in self.targets.items():
            answer = outcome(lambda target=target: target.load(target.data), name)
            if isinstance(answer, hc.Error):
                raise Finding(f"{name}: the sample itself is refused: {answer}")

    def attack(self, case: Case) -> None:
        """One mutated input for one loader."""
        name = case.rng.choice(sorted(self.targets))
        target = self.targets[name]
        data = mutate(case.rng, target.data, target.text)
        sealed = target.seal is not None and case.rng.random() < 0.7
        if sealed and target.seal is not None:
            data = target.seal(data)
        (case.folder / "input").write_bytes(data)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        outcome(lambda: target.load(data), f"{name}, {len(data)} bytes")
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
        if grown > MEMORY_FLOOR + MEMORY_FACTOR * len(data):
            raise Finding(f"{name}: {len(data)} bytes took {grown >> 20} MiB")

    def _file(self, data: bytes, ending: str) -> Path:
        path = self.world.folder / f"mutated{ending}"
        path.write_bytes(data)
        return path

    def _containers(self) -> dict[str, Target]:
        world, params = self.world, self.world.params
        secret = world.folder / "secret.hlc"
        world.client.save_secret_key(secret, overwrite=True)

        def ciphertext(data: bytes) -> None:
            taken = hc.Ciphertext.from_bytes(data, params)
            world.client.decrypt(taken)
            taken.to_bytes()

        def keys(data: bytes) -> None:
            engine = hc.Engine(params, hc.EvaluationKeys.from_bytes(data, params), threads=1)
            engine.run(lambda x: x.rotate(1), world.x)

        def public(data: bytes) -> None:
            hc.PublicKey.from_bytes(data, params).encrypt([1.0, 2.0])

        def client(data: bytes) -> None:
            hc.Client.load(self._file(data, ".secret"), params, threads=1).encrypt([1.0])

        def literal(data: bytes) -> None:
            hc.Params.from_bytes(data, allow_insecure=True).to_json()

        computed = world.resident.run(rotations, world.x)
        made = {
            "ciphertext": (computed.to_bytes(), ciphertext),
            "seeded ciphertext": (world.x.to_bytes(), ciphertext),
            "evaluation keys": (world.client.evaluation_keys([1]).to_bytes(), keys),
            "public key": (world.client.public_key().to_bytes(), public),
            "secret key": (secret.read_bytes(), client),
            "parameters": (params.to_bytes(), literal),
        }
        return {name: Target(data, load, seal_container) for name, (data, load) in made.items()}

    def _plans_and_traces(self) -> dict[str, Target]:
        world = self.world
        traced = hc.trace_program(world.params, rotations, np.zeros(world.params.slots)).trace
        folder = world.folder
        names = (".csv", ".csv.xz", ".rmm.csv")
        for ending in names:
            traced.save(folder / f"sample{ending}")
        device = hc.device_models()["h200"]
        device.save(folder / "device.json")

        def trace(ending: str) -> Callable[[bytes], None]:
            def load(data: bytes) -> None:
                taken = hc.Trace.load(self._file(data, ending))
                repr(taken)
                if len(taken.lifetimes) < 1000:
                    for policy in ("lru", "managed", "resident"):
                        _replay(taken, device, policy)

            return load

        def decisions(data: bytes) -> None:
            chosen = hc.MemoryOptions(decisions=self._file(data, ".decisions"))
            hc.Engine(world.params, world.keys, policy="profiled", memory_options=chosen, threads=1)

        plain = (folder / "sample.csv").read_bytes()
        packed = trace(".csv.xz")
        decided = _core.decisions_to_text(hc.decide(traced, pool_bytes="1MiB")).encode()
        plan = hc.plan_trace(traced, "50%").to_bytes()
        log = (folder / "sample.rmm.csv").read_bytes()
        model = (folder / "device.json").read_bytes()
        return {
            "plan": Target(plan, lambda data: repr(hc.Plan.from_bytes(data)), seal_plan),
            "trace": Target(plain, trace(".csv"), text=True),
            "compressed trace": Target((folder / "sample.csv.xz").read_bytes(), packed),
            "mutated, then compressed trace": Target(plain, lambda data: packed(_press(data)), text=True),
            "log of RMM": Target(log, trace(".rmm.csv"), text=True),
            "device": Target(model, lambda data: hc.DeviceModel.load(self._file(data, ".json")), text=True),
            "decisions": Target(decided, decisions, text=True),
        }

    def _texts(self) -> dict[str, Target]:
        params = self.world.params
        plan = hc.key_plan(params, rotations, np.zeros(params.slots)).to_json().encode()

        def literal(data: bytes) -> None:
            hc.Params.from_json(data, allow_insecure=True)

        def text(data: bytes) -> str:
            try:
                return data.decode()
            except UnicodeDecodeError:
                return json.dumps(data.decode("latin-1"))

        return {
            "literal": Target(params.to_json().encode(), literal, text=True),
            "key plan": Target(plan, lambda data: hc.KeyPlan.from_json(text(data), params), text=True),
        }


def _replay(trace: hc.Trace, device: hc.DeviceModel, policy: str) -> None:
    outcome(lambda: hc.replay(trace, device, policy, memory="1MiB"), f"replay {policy}")


def _press(data: bytes) -> bytes:
    return lzma.compress(data, preset=0)
