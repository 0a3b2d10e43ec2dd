# SPDX-License-Identifier: Apache-2.0
import json
import pickle

import halocline as hc
import numpy as np
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


def test_compressed_files(trace, tmp_path):
    path = tmp_path / "t.csv.xz"
    trace.save(path)
    assert hc.Trace.load(path).to_csv() == trace.to_csv()
    content = path.read_bytes()
    for damaged in (content[:-9], content[:20] + bytes([content[20] ^ 255]) + content[21:]):
        path.write_bytes(damaged)
        with pytest.raises(hc.CorruptData, match=r"t\.csv\.xz"):
            hc.Trace.load(path)


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
    assert stats["scratch"].median_lifetime == 2
    assert stats["scratch"].median_seconds == pytest.approx(20e-9)
    assert (stats["table"].existing, ct.existing) == (1, 0)
    assert stats["plaintext"].peak_bytes == 0


EXISTING = [
    "1,expand,exists,3,evaluation_key,1000,0,0,40,key.a@00ff12",
    "1,switch,read,3,evaluation_key,10,0,0,40,key.a",
    "2,-,free,3,evaluation_key,1000,0,0,90,key.a",
    "2,encode,allocate,4,plaintext,7,0,0,90,p@home",
    "3,add,read,4,plaintext,7,0,0,100,p@home",
]


def test_buffers_that_existed_before():
    trace = hc.Trace.from_csv(HEADER + "\n".join(EXISTING) + "\n")
    lives = trace.lifetimes
    assert list(lives.object) == [3, 4]
    assert list(lives.bytes) == [1000, 7]  # the full size, though little of it is read
    assert list(lives.fresh) == [False, True]
    assert list(lives.freed) == [True, False]
    assert list(lives.tag) == ["key.a", "p@home"]  # without the identity, which is hexadecimal
    assert lives.begin * 1e9 == pytest.approx([0, 90])  # a life that began before begins with the trace
    assert lives.seconds * 1e9 == pytest.approx([90, 10])
    assert list(trace.live_bytes()["evaluation_key"]) == [1000, 1000, 1000, 0, 0]
    assert trace.stats()["evaluation_key"].objects == 0
    assert trace.stats()["evaluation_key"].existing == 1
    assert trace.to_csv().splitlines()[1:] == EXISTING


def test_lifetimes(trace):
    lives = trace.lifetimes
    assert len(lives) == 3
    assert [hc.memory.trace.CLASSES[each] for each in lives.cls] == ["table", "ciphertext", "scratch"]
    assert lives.begin * 1e9 == pytest.approx([0, 10, 30])
    assert lives.end * 1e9 == pytest.approx([70, 60, 50])
    made = lives.allocations()
    assert list(made.object) == [8, 9]
    assert trace.seconds == pytest.approx(70e-9)


def test_statistics_of_a_long_trace():
    count = 250_000  # a loop over a million events in Python would take the test's time limit
    step = np.repeat(np.arange(count), 4)
    action = np.tile(["allocate", "write", "read", "free"], count)
    rows = (
        f"{s},add,{a},{s},ciphertext,4096,0,0,{1000 * s},x"
        for s, a in zip(step.tolist(), action.tolist(), strict=True)
    )
    trace = hc.Trace.from_csv(HEADER + "\n".join(rows) + "\n")
    found = trace.stats()["ciphertext"]
    assert (found.objects, found.peak_bytes, trace.peak_bytes) == (count, 4096, 4096)
    assert found.read_bytes == 4096 * count


RMM = "Thread,Time,Action,Pointer,Size,Stream\n"


def test_logs_of_rmm(trace, tmp_path):
    text = RMM + "7,10:00:00.000000,allocate,0x100,64,0\n7,10:00:02.500000,free,0x100,64,0\n"
    read = hc.Trace.from_rmm(text)
    assert list(read.columns["action"]) == ["allocate", "write", "read", "free"]
    assert set(read.columns["class"]) == {"ciphertext"}
    assert read.lifetimes.seconds == pytest.approx([2.5])
    assert set(hc.Trace.from_rmm(text, "scratch").columns["class"]) == {"scratch"}
    (tmp_path / "log.csv").write_text(text)
    assert hc.Trace.load(tmp_path / "log.csv").to_csv() == read.to_csv()
    trace.save(tmp_path / "t.rmm.csv")
    written = (tmp_path / "t.rmm.csv").read_text()
    assert written == trace.to_rmm()
    assert [row.split(",")[2:5:2] for row in written.splitlines()[1:]] == [
        ["allocate", "50"],
        ["allocate", "30"],
        ["free", "30"],
        ["free", "50"],
    ]
    with pytest.raises(hc.CorruptData, match="line 2"):
        hc.Trace.from_rmm(RMM + "nonsense\n")
    with pytest.raises(hc.InvalidArgument, match="evaluation_key"):
        hc.Trace.from_rmm(text, "key")
    with pytest.raises(hc.WrongType):
        hc.Trace.from_rmm(5)


def test_perfetto_timelines(trace, tmp_path):
    trace.save(tmp_path / "t.perfetto.json")
    content = json.loads((tmp_path / "t.perfetto.json").read_text())
    spans = [each for each in content["traceEvents"] if each["ph"] == "X"]
    assert [each["name"] for each in spans] == ["copy", "add", "add", "copy"]
    assert spans[0]["args"]["bytes"] == 100
    assert {each["name"] for each in content["traceEvents"] if each["ph"] == "C"} == {
        f"live bytes: {name}" for name in hc.memory.trace.CLASSES
    }


def test_empty_trace():
    trace = hc.Trace.from_csv(HEADER)
    assert (len(trace), trace.peak_bytes) == (0, 0)
    assert trace.stats()["table"].objects == 0
    assert len(trace.lifetimes) == 0
    assert trace.seconds == 0
    assert len(trace.to_rmm().splitlines()) == 1


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


LARGEST = 1 << 43
"""Where a row may end within its buffer."""


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (f"0,-,allocate,1,ciphertext,{1 << 63},0,0,0,x", "line 3: .* at most 2"),
        (f"0,-,allocate,1,ciphertext,{(1 << 64) - 1},0,0,0,x", "line 3: .* at most 2"),
        (f"0,-,allocate,1,ciphertext,{LARGEST + 1},0,0,0,x", "line 3: .* at most 2"),
        (f"0,add,read,1,ciphertext,2,{(1 << 64) - 1},0,0,x", "line 3: .* at most 2"),
        (f"0,add,read,1,ciphertext,1,{LARGEST},0,0,x", "line 3: .* at most 2"),
        (f"{1 << 63},add,read,1,ciphertext,1,0,0,0,x", "line 3: step"),
        (f"0,add,read,1,ciphertext,1,0,0,{1 << 63},x", "line 3: time"),
    ],
)
def test_sizes_that_wrap_are_refused(row, message):
    with pytest.raises(hc.CorruptData, match=message):
        hc.Trace.from_csv(HEADER + "0,-,allocate,9,ciphertext,8,0,0,0,x\n" + row + "\n")


def test_sums_that_wrap_are_refused():
    rows = "".join(f"0,-,allocate,{i},ciphertext,{LARGEST},0,0,0,x\n" for i in range(1 << 19))
    trace = hc.Trace.from_csv(HEADER + rows)
    assert trace.peak_bytes == 1 << 62
    assert "4194304 TiB" in repr(trace) or "TiB" in repr(trace)
    assert trace.stats()["ciphertext"].allocated_bytes == 1 << 62
    with pytest.raises(hc.CorruptData, match=r"line 524290: .* add up to more than 2\^62"):
        hc.Trace.from_csv(HEADER + rows + "0,-,allocate,0,ciphertext,1,0,0,0,x\n")


def test_logs_of_rmm_have_the_same_limits():
    log = "Thread,Time,Action,Pointer,Size,Stream\n1,10:00:00.000000,allocate,0x100,{},0\n"
    assert hc.Trace.from_rmm(log.format(LARGEST)).peak_bytes == LARGEST
    for size in (LARGEST + 1, (1 << 64) - 1):
        with pytest.raises(hc.CorruptData, match="line 2"):
            hc.Trace.from_rmm(log.format(size))


def test_the_text_of_a_trace_that_contradicts_itself_is_shown():
    rows = "0,-,free,1,ciphertext,50,0,0,0,x\n0,-,allocate,1,ciphertext,50,0,0,0,x\n"
    trace = hc.Trace.from_csv(HEADER + rows)
    assert "2 events" in repr(trace)
    assert trace.peak_bytes == 0  # never more live than at the beginning


def test_text_that_is_no_text_is_refused():
    for load in (hc.Trace.from_csv, hc.Trace.from_rmm):
        with pytest.raises(hc.InvalidArgument, match="surrogates"):
            load(HEADER + "\ud800")


@pytest.mark.parametrize("policy", ["managed", "static", "lru", "planned", "resident", "async", "cached"])
def test_absurd_sizes_end_at_once(policy):
    """A buffer of 8 TiB, the most that a trace may have: a refusal or a result, in little memory."""
    rows = (
        f"0,-,allocate,1,ciphertext,{LARGEST},0,0,0,x\n"
        f"0,add,write,1,ciphertext,{LARGEST},0,0,10,x\n"
        f"0,-,allocate,2,ciphertext,{LARGEST},0,0,20,x\n"
    )
    trace = hc.Trace.from_csv(HEADER + rows)
    with pytest.raises(hc.Error, match=r"blocks|budget|bytes"):
        hc.replay(trace, "h200", policy=policy, memory="1GiB")


def test_key_switches_count_the_keys_of_joined_steps():
    rows = [
        "1,ntt,read,1,scratch,8,0,0,0,x",
        "2,key_multiply_accumulate:seeded,read,2,evaluation_key,8,0,0,0,evaluation_key.b",
        "3,key_dot,read,2,evaluation_key,8,0,0,0,evaluation_key.b",
        *(f"3,key_dot,read,{each},table,8,0,0,0,ring.permutation" for each in (5, 6, 5)),
        "4,key_multiply_accumulate,read,5,table,8,0,0,0,phase/ring.permutation",
        "5,automorphism,read,5,table,8,0,0,0,ring.permutation",
    ]
    steps, keys = hc.Trace.from_csv(HEADER + "\n".join(rows) + "\n").key_switches()
    assert steps.tolist() == [2, 3, 4] and keys.tolist() == [1, 2, 1]
