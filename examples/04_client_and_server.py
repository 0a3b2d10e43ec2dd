# SPDX-License-Identifier: Apache-2.0
"""Two parties that exchange bytes only. Whatever is damaged on the way is noticed."""

import halocline as hc
import numpy as np


class Server:
    """Has a linear model and no secret. Scores data that it cannot read."""

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

# Hiding the error of a shared result takes some 20 bits of precision: a scale of 50 bits leaves enough.
params = hc.Params(
    log_n=13, word_bits=64, depth=1, scale_bits=50, base_bits=60, main_bits=0, terminal_bits=0,
    special_primes=1, special_bits=60, digit_size=1,
)  # fmt: skip
client = hc.Client(params)
keys = client.evaluation_keys(rotations=[1, 2, 4, 8, 16, 32], relinearization=False).to_bytes()
server = Server(keys, weights, bias)
print(f"keys sent once: {len(keys)} bytes")

request = client.encrypt(patient).to_bytes()
answer = server.score(request)
print(f"request {len(request)} bytes, answer {len(answer)} bytes")

# Results that leave the client's hands get noise that hides the exact error, of which others could compute
# the key. Its width follows from what the computation errs at most, measured with keys and inputs that are
# no secret.
bound = hc.measure_error_bound(params, lambda x: x.engine.inner_sum(x * weights) + bias, np.ones(64))
shared = client.decrypt_for_sharing(hc.Ciphertext.from_bytes(answer, params), error_bound=bound, magnitude=30)
score, noise = shared.values[0], shared.flooding.slot_stddev
expected = weights @ patient + bias
print(f"score {score:.6f} +- {noise:.1g}, in the clear {expected:.6f}")
assert abs(score - expected) < 8 * noise < 0.01

damaged = bytearray(request)
damaged[len(damaged) // 2] ^= 1
for message in (bytes(damaged), request[:-1], b"not a ciphertext", keys):
    try:
        server.score(message)
    except hc.Error as refused:
        print("refused:", str(refused)[:100])
    else:
        raise AssertionError("damaged bytes were accepted")

# Another party encrypts for the client, with the public key only.
sender = hc.PublicKey.from_bytes(client.public_key().to_bytes(), params)
answer = server.score(sender.encrypt(patient).to_bytes())
assert abs(client.decrypt(hc.Ciphertext.from_bytes(answer, params))[0] - expected) < 1e-2
