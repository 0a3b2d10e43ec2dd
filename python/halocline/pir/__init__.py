# SPDX-License-Identifier: Apache-2.0
"""Private retrieval: a client fetches a record from a server's database, and the server does not learn which.

from halocline import pir

database = pir.Database.build(records, record_bytes=256)     # server
info = database.info                                         # public: give it to clients
client = pir.Client(info)                                    # owns a secret
query = client.query(1234)
with pir.Server(database) as server:
    server.add_client(client.server_keys())                  # sent once
    answer = server.answer(query.to_bytes())
print(client.decode(query, answer))
"""

from .client import Client, Lookup, Query
from .database import Database
from .info import DatabaseInfo, KeywordTable
from .keywords import KeywordDatabase
from .params import Params, preset_names
from .server import Server
from .statistics import BatchPlan, ServerStats

__all__ = [
    "BatchPlan",
    "Client",
    "Database",
    "DatabaseInfo",
    "KeywordDatabase",
    "KeywordTable",
    "Lookup",
    "Params",
    "Query",
    "Server",
    "ServerStats",
    "preset_names",
]
