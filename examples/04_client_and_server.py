# SPDX-License-Identifier: Apache-2.0
"""Two parties that exchange bytes only. Whatever is damaged on the way is noticed."""

import halocline as hc
import numpy as np


class Server:
    """Knows a linear model and no secret. Scores what it cannot read."""

    def __init__(self, public_keys: bytes, weights: np.ndarray, bias: float) -> None:
        keys = hc.EvaluationKeys.from_bytes(public_keys)  # validated completely, parameters included
        self.engine = hc.Engine(keys.params, keys, memory="256MiB")
        self.weights, self.bias = weights, bias

    def score(self, request: bytes) -> bytes:
        x = hc.Ciphertext.from_bytes(request, self.engine.params)
        return self.engine.run(self._program, x).to_bytes()

    def _program(self, x: hc.Ciphertext) -> hc.Ciphertext:
        return self.engine.inner_sum(x * self.weights) + self.bias


rng = np.random.default_rng(3)
weights, bias, patient = rng.normal(size=64), 0.25, rng.uniform(-1, 1, 64)

params = hc.Params.preset("n13-d3")
client = hc.Client(params)
keys = client.evaluation_keys(rotations=[1, 2, 4, 8, 16, 32], relinearization=False).to_bytes()
server = Server(keys, weights, bias)
print(f"keys sent once: {len(keys)} bytes")

request = client.encrypt(patient).to_bytes()
answer = server.score(request)
print(f"request {len(request)} bytes, answer {len(answer)} bytes")

# Results that leave the client's hands get noise that hides the exact error (see SECURITY.md).
score = client.decrypt(hc.Ciphertext.from_bytes(answer, params), flooding_bits=12)[0]
expected = weights @ patient + bias
print(f"score {score:.6f}, in the clear {expected:.6f}")
assert abs(score - expected) < 1e-4

damaged = bytearray(request)
damaged[len(damaged) // 2] ^= 1
for message in (bytes(damaged), request[:-1], b"not a ciphertext", keys):
    try:
        server.score(message)
    except hc.Error as refused:
        print("refused:", str(refused)[:100])
    else:
        raise AssertionError("damaged bytes were accepted")

# Someone else encrypts for the client, with the public key only.
sender = hc.PublicKey.from_bytes(client.public_key().to_bytes(), params)
answer = server.score(sender.encrypt(patient).to_bytes())
assert abs(client.decrypt(hc.Ciphertext.from_bytes(answer, params))[0] - expected) < 1e-2
