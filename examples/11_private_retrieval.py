# SPDX-License-Identifier: Apache-2.0
"""Fetch a record so that the server does not learn which; look up a key so that it does not learn the key."""

import threading

import numpy as np
from halocline import pir

# The server's side: a database, and a description of it that is public.
records = np.random.default_rng(5).integers(0, 256, size=(2000, 128), dtype=np.uint8)
database = pir.Database.build(records, "pir-n2048")
about = database.info.describe()
print(database)
print("security:", round(about["security_bits"]), "bits; wrong answers: 2^", round(about["log2_failure"]))
print(
    "bytes: query",
    about["query_bytes"],
    " answer",
    about["answer_bytes"],
    " keys",
    about["server_keys_bytes"],
)

# A client needs the description only. Its secret stays with it.
client = pir.Client(pir.DatabaseInfo.from_json(database.info.to_json()))
query = client.query(1234)

with pir.Server(database, batch=4, deadline=0.05) as server:
    server.add_client(client.server_keys())  # once
    answer = server.answer(query.to_bytes())
    assert client.decode(query, answer) == records[1234].tobytes()
    print("record 1234 fetched")

    # Queries of several threads are answered together, and read the database once.
    def fetch(index: int) -> None:
        asked = client.query(index)
        assert client.decode(asked, server.answer(asked.to_bytes())) == records[index].tobytes()

    threads = [threading.Thread(target=fetch, args=(index,)) for index in (0, 7, 999, 1999)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    stats = server.stats()
    print("queries:", stats.queries, " batches:", stats.batches)

    # A record is replaced between two batches.
    database.replace(7, bytes(128))
    query = client.query(7)
    assert client.decode(query, server.answer(query.to_bytes())) == bytes(128)
    print("record 7 replaced")

# Values under keys: the number of queries is the same for every key, also for one that is not there.
names = pir.KeywordDatabase.build({"alice": "blue", "bob": "green", "carol": "red"}, "pir-n2048")
client = pir.Client(names.info)
with pir.Server(names) as server:
    server.add_client(client.server_keys())
    for key, expected in (("bob", b"green"), ("dave", None)):
        lookup = client.lookup_queries(key)
        found = client.decode_lookup(lookup, server.answer_many(lookup.to_bytes()))
        print(key, "->", found)
        assert found == expected
