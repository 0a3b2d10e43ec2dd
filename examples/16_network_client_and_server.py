# SPDX-License-Identifier: Apache-2.0
"""A network on a server, clients without its weights: every step a process of its own, files between them.

Without arguments it starts its own steps one after the other, and prints what they sent each other.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import halocline as hc
import halocline.nn as nn
import numpy as np

# The server's own files, which never leave it, and the files that the parties send each other.
PRIVATE_TO_SERVER, PRIVATE_TO_CLIENT, SENT = "server", "client", "sent"


def server_publishes(folder: Path) -> None:
    """Trains a network on handwritten digits, compiles it, and writes what its clients must know."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    images = pixels.reshape(-1, 1, 8, 8) / 16.0
    np.savez(folder / PRIVATE_TO_CLIENT / "images.npz", images=images[1700:], labels=labels[1700:])
    body = (
        nn.Node("conv", nn.Conv2d(np.random.default_rng(0).normal(size=(8, 1, 3, 3)), stride=2), ("input",)),
        nn.Node("square", nn.Polynomial(hc.Polynomial([0, 0.5, 0.1])), ("conv",)),
        nn.Node("flatten", nn.Flatten(), ("square",)),
    )
    # The filters stay random; only what follows them is trained.
    features = nn.Model((1, 8, 8), body).forward(images[:1700])
    matrix = np.hstack([features, np.ones((1700, 1))])
    solved = np.linalg.solve(matrix.T @ matrix + np.eye(129), matrix.T @ np.eye(10)[labels[:1700]])
    out = nn.Node("out", nn.Linear(solved[:-1].T, solved[-1]), ("flatten",))
    model = nn.Model((1, 8, 8), (*body, out))
    nn.save(model, folder / PRIVATE_TO_SERVER / "digits.json")
    nn.calibrate(model, images[:1700]).save(folder / PRIVATE_TO_SERVER / "ranges.json")
    compiled = _compiled(folder)
    spec = compiled.client_spec(name="digits", classes=[f"a {digit}" for digit in range(10)])
    spec.save(folder / SENT / "digits.hlspec")
    print(spec)


def _compiled(folder: Path) -> nn.CompiledModel:
    model = nn.load(folder / PRIVATE_TO_SERVER / "digits.json")
    ranges = nn.Ranges.load(folder / PRIVATE_TO_SERVER / "ranges.json")
    return nn.compile(model, hc.Params.preset("n14-d7"), ranges)


def client_asks(folder: Path) -> None:
    """Makes keys for the specification and encrypts three images; the secret key stays."""
    client = nn.Client.load(folder / SENT / "digits.hlspec")
    client.save_secret_key(folder / PRIVATE_TO_CLIENT / "secret.key")
    client.evaluation_keys().save(folder / SENT / "keys.hlc")
    images = np.load(folder / PRIVATE_TO_CLIENT / "images.npz")["images"][:3]
    for number, ct in enumerate(client.encrypt(images)):
        ct.save(folder / SENT / f"input{number}.hlc")


def server_answers(folder: Path) -> None:
    """Evaluates every input with the client's keys. Damaged files, and those of others, are refused."""
    keys = hc.EvaluationKeys.load(folder / SENT / "keys.hlc")
    server = nn.Server(_compiled(folder), keys, memory="1GiB")
    for path in sorted((folder / SENT).glob("input*.hlc")):
        server.answer_file(path, path.with_name(path.name.replace("input", "result")))
    stranger = nn.Client.load(folder / SENT / "digits.hlspec")
    try:
        server.run(stranger.encrypt(np.zeros((1, 8, 8))))
    except hc.KeyMismatch as refused:
        print("refused:", str(refused)[:70])
    else:
        raise AssertionError("an input of another key was accepted")


def client_reads(folder: Path) -> None:
    """Decrypts the results."""
    client = nn.Client.load(
        folder / SENT / "digits.hlspec", secret_key=folder / PRIVATE_TO_CLIENT / "secret.key"
    )
    results = [hc.Ciphertext.load(path) for path in sorted((folder / SENT).glob("result*.hlc"))]
    labels = np.load(folder / PRIVATE_TO_CLIENT / "images.npz")["labels"]
    found = client.classify(results)
    print("found", found, "and they are", [int(each) for each in labels[:3]])
    assert found == [f"a {each}" for each in labels[:3]]


STEPS = (server_publishes, client_asks, server_answers, client_reads)

if len(sys.argv) == 3:
    next(step for step in STEPS if step.__name__ == sys.argv[1])(Path(sys.argv[2]))
else:
    with tempfile.TemporaryDirectory() as name:
        for owner in (PRIVATE_TO_SERVER, PRIVATE_TO_CLIENT, SENT):
            (Path(name) / owner).mkdir()
        for step in STEPS:
            print(f"-- {step.__name__}", flush=True)
            subprocess.run([sys.executable, __file__, step.__name__, name], check=True)
        for path in sorted((Path(name) / SENT).iterdir()):
            print(f"{path.name}: {path.stat().st_size} bytes")
