# SPDX-License-Identifier: Apache-2.0
import pickle

import halocline as hc
import pytest

HEADER = "step,op,action,object,class,bytes,offset,stream,time_ns,tag\n"
ROWS = [
    "1,copy,read,7,table,100,0,0,0,roots",  # there before the recording
    "1,-,allocate,8,ciphertext,50,0,0,10,x",
    "2,add,write,8,ciphertext,50,0,0,20,x",
    "2,-,allocate,9,scratch,30,0,0,30,s",
    "4,add,read,8,ciphertext,20,30,0,40,x",
    "4,-,free,9,scratch,30,0,0,50,s",
    "5,-,free,8,ciphertext,50,0,0,60,x",
    "5,copy,read,7,table,40,80,0,70,roots",
]


@pytest.fixture
def trace():
    return hc.Trace.from_csv(HEADER + "\n".join(ROWS) + "\n")


def test_csv_round_trip(trace, tmp_path):
    assert len(trace) == len(ROWS)
    assert trace.to_csv() == HEADER + "\n".join(ROWS) + "\n"
    trace.save(tmp_path / "t.csv")
    assert hc.Trace.load(tmp_path / "t.csv").to_csv() == trace.to_csv()
    assert pickle.loads(pickle.dumps(trace)).to_csv() == trace.to_csv()


def test_columns(trace):
    assert list(trace.columns["step"]) == [1, 1, 2, 2, 4, 4, 5, 5]
    assert list(trace.columns["action"][:3]) == ["read", "allocate", "write"]
    assert set(trace.columns["tag"]) == {"roots", "x", "s"}


def test_live_bytes_and_peak(trace):
    live = trace.live_bytes()
    assert list(live["table"]) == [120] * 8  # bytes up to the last one that was touched
    assert list(live["ciphertext"]) == [0, 50, 50, 50, 50, 50, 50, 0]
    assert list(live["scratch"]) == [0, 0, 0, 30, 30, 30, 0, 0]
    assert trace.peak_bytes == 200
    assert "peak 200 B" in repr(trace)


def test_stats(trace):
    stats = trace.stats()
    ct = stats["ciphertext"]
    assert (ct.objects, ct.allocated_bytes, ct.read_bytes, ct.written_bytes, ct.peak_bytes) == (
        1,
        50,
        20,
        50,
        50,
    )
    assert ct.median_lifetime == 4
    assert stats["table"].objects == 0
    assert stats["table"].peak_bytes == 120
    assert stats["scratch"].median_lifetime == 3
    assert stats["plaintext"].peak_bytes == 0


def test_empty_trace():
    trace = hc.Trace.from_csv(HEADER)
    assert (len(trace), trace.peak_bytes) == (0, 0)
    assert trace.stats()["table"].objects == 0


@pytest.mark.parametrize(
    "text", ["", "nonsense", HEADER + "1,2,3\n", HEADER + ROWS[0].replace("100", "many") + "\n"]
)
def test_malformed_rows_are_named(text):
    with pytest.raises(hc.CorruptData):
        hc.Trace.from_csv(text)


def test_bad_arguments(tmp_path):
    with pytest.raises(hc.IoError):
        hc.Trace.load(tmp_path / "no.csv")
    with pytest.raises(hc.WrongType):
        hc.Trace.from_csv(5)
    with pytest.raises(hc.WrongType):
        hc.Trace("text")


def test_phases_mark_events(engine, client, x):
    ct = client.encrypt(x).to(engine)
    with engine.record() as trace:
        with engine.phase("square"):
            y = ct * ct
        y.rotate(1)
    tags = list(trace.columns["tag"])
    marked = [tag.startswith("square/") for tag in tags]
    assert any(marked)
    assert not all(marked)
    assert marked == sorted(marked, reverse=True) or marked.count(True) > 10
