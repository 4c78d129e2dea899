"""Recordings of a photodiode as CSV and WAV: formats of several devices, and damaged files."""

import numpy as np
import pytest
from scipy.io import wavfile

from batteries.errors import InputError
from experiment.lab.photodiode.recording import Recording, read_recording, trigger_onsets


@pytest.fixture
def write(tmp_path):
    def write(content, name="scope.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def rows(n=50, rate_hz=1000, line="{t:.4f},{v},{c}\n"):
    return "".join(line.format(t=k / rate_hz, v=k % 7, c=k % 2) for k in range(n))


@pytest.mark.parametrize(
    "text",
    [
        rows(),
        "time,diode,trigger\n" + rows(),
        "Model,DS1054Z,x\nSource,CH1,CH2\n\nSecond,Volt,Volt\n" + rows(),
        rows(line="{t:.4f};{v};{c}\n"),
        rows(line="{t:.4f}\t{v}\t{c}\r\n"),
        rows(line="{t:.4f},{v},{c},\n"),
        rows(line="{t:.4e}, {v:.2E}, +{c}\n") + "\n",
        rows(line='"{t:.4f}","{v}","{c}"\n'),
    ],
)
def test_csv_files_of_several_devices_are_read(write, text):
    recording = read_recording(write(text))
    assert recording.rate_hz == pytest.approx(1000)
    assert recording.light.tolist() == [k % 7 for k in range(50)]
    assert recording.trigger.tolist() == [k % 2 for k in range(50)]


def test_decimal_commas_are_read(write):
    text = rows(line="{t:.4f};{v}.5;{c}\n").replace(".", ",")
    recording = read_recording(write(text))
    assert recording.rate_hz == pytest.approx(1000)
    assert recording.light[:3].tolist() == [0.5, 1.5, 2.5]


def test_without_a_column_of_times_the_rate_is_given(write):
    recording = read_recording(write(rows(line="{v},{c}\n")), rate_hz=2000)
    assert (recording.rate_hz, recording.length_s) == (2000, 0.025)
    assert recording.trigger.tolist() == [k % 2 for k in range(50)]
    assert read_recording(write(rows(line="{v}\n")), rate_hz=2000).trigger is None


def test_rounded_times_are_read(write):
    recording = read_recording(write(rows(1000, 5000, line="{t:.3f},{v}\n")))
    assert recording.rate_hz == pytest.approx(5000, rel=0.01)


@pytest.mark.parametrize(
    ("text", "rate_hz", "sentence"),
    [
        ("", None, "scope.csv: no line of numbers was found. Fix: export the recording as CSV"),
        ("a,b\nc,d\n", None, "no line of numbers"),
        (rows() + "0.05,x,1\n", None, "scope.csv, line 51: 'x' is not a number. Fix: correct or delete this line."),
        (rows() + "0.05,nan,1\n", None, "line 51: 'nan' is not a number"),
        ("t,v,c\n" + rows() + "0.05,1\n", None, r"line 52: this line has 2 of 3 columns. Fix: export .* again"),
        (rows(line="{t},{v},{c},1\n"), None, "line 1: this line has 4 columns. Fix: export only these columns: time"),
        (rows(line="{v}\n"), None, "line 1: this line has 1 column.* add --rate-hz"),
        (rows(), 1000, "line 1: this line has 3 columns. With --rate-hz, the file has no column of times. Fix"),
        (rows(52, line="{v},{t}\n"), None, "line 8: the time goes backwards. Fix: export one recording"),
        (rows(line="1,{t}\n"), None, "line 1: the first column does not increase, so it is not the time. Fix"),
        ("t,v,c\n" + rows() + "0.2,1,1\n", None, "line 52: samples are missing for 0.151 s before this line. Fix"),
        ("0,1\n", None, "line 1: the first column does not increase"),
        (rows(line="{v}\n"), float("nan"), "--rate-hz nan: this is not a sampling rate in Hz. Fix: write a number"),
        (rows(line="{v}\n"), -5, "--rate-hz -5: this is not a sampling rate"),
        (b"\xff\xfe0\x001\x00", None, "byte 0 is not UTF-8 text. Fix"),
    ],
)
def test_bad_csv_files_are_refused_with_the_line(write, text, rate_hz, sentence):
    with pytest.raises(InputError, match=sentence):
        read_recording(write(text), rate_hz)


def test_times_in_unequal_steps_are_refused(write):
    at_s = np.cumsum(np.linspace(0.001, 0.002, 500))
    with pytest.raises(InputError, match=r"the times do not increase in equal steps. Fix: record with a constant"):
        read_recording(write("".join(f"{t:.5f},1\n" for t in at_s)))


def test_a_missing_file_is_refused(tmp_path):
    for name in ("scope.csv", "scope.wav"):
        with pytest.raises(InputError, match=f"{name}: this file does not exist. Fix"):
            read_recording(tmp_path / name)


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.uint8, np.float32])
def test_a_wav_file_has_the_diode_left_and_the_trigger_right(tmp_path, kind):
    left, right = np.arange(100), np.arange(100) % 2
    wavfile.write(tmp_path / "r.wav", 44_100, np.stack([left, right], axis=1).astype(kind))
    recording = read_recording(tmp_path / "r.wav")
    assert recording.rate_hz == 44_100
    assert recording.light.tolist() == left.tolist()
    assert recording.trigger.tolist() == right.tolist()


def test_a_wav_file_with_one_channel_has_no_trigger(tmp_path):
    wavfile.write(tmp_path / "mono.wav", 8000, np.arange(100, dtype=np.int16))
    wavfile.write(tmp_path / "silent.wav", 8000, np.stack([np.arange(100), np.zeros(100)], axis=1).astype(np.int16))
    assert read_recording(tmp_path / "mono.wav").trigger is None
    assert read_recording(tmp_path / "silent.wav").trigger is None


def test_bad_wav_files_are_refused(tmp_path, write):
    good = tmp_path / "r.wav"
    wavfile.write(good, 8000, np.zeros((1000, 2), dtype=np.int16))
    data = good.read_bytes()
    with pytest.raises(InputError, match=r"contains its sampling rate. Fix: omit --rate-hz"):
        read_recording(good, 8000)
    with pytest.raises(InputError, match=r"cut.wav: .* Fix"):
        read_recording(write(data[:1000], "cut.wav"))
    with pytest.raises(InputError, match=r"text.wav: this is not a WAV file .* Fix: export it again"):
        read_recording(write(b"time,diode\n0,1\n", "text.wav"))
    wavfile.write(tmp_path / "five.wav", 8000, np.zeros((1000, 5), dtype=np.int16))
    with pytest.raises(InputError, match=r"five.wav: the file has 5 channels with 1,000 samples. Fix: export"):
        read_recording(tmp_path / "five.wav")
    wavfile.write(tmp_path / "nan.wav", 8000, np.full((1000, 2), np.nan, dtype=np.float32))
    with pytest.raises(InputError, match=r"values that are not numbers. Fix"):
        read_recording(tmp_path / "nan.wav")


def triggers(values):
    return trigger_onsets(Recording("scope.csv", 1000.0, np.zeros(len(values)), np.array(values, dtype=float)))


def test_triggers_are_levels_codes_or_inverted_levels():
    pulse = np.zeros(1000)
    pulse[100:110] = 1
    pulse[400:410] = 1
    for values in (pulse, 5 - 5 * pulse, pulse * 37, np.where(np.arange(1000) % 300 == 100, 7, 0)):
        assert triggers(values)[:2] == pytest.approx([0.0995, 0.3995])
    bouncing = pulse.copy()
    bouncing[103] = 0
    assert triggers(bouncing) == pytest.approx([0.0995, 0.3995])
    noisy = pulse + np.random.default_rng(0).normal(0, 0.05, 1000)
    assert triggers(noisy) == pytest.approx([0.0995, 0.3995])


def test_a_trigger_that_the_beginning_cuts_does_not_count():
    assert triggers([1] * 5 + [0] * 100 + [1] * 5 + [0] * 100) == pytest.approx([0.1045])


def test_a_trigger_that_never_changes_is_refused():
    with pytest.raises(InputError, match=r"the trigger never changes. Fix: check its cable"):
        triggers([3] * 100)
