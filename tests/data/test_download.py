"""Downloads from a server in this process: what is fetched, checked and kept, and what a failure says."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import os
import socket
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import numpy as np
import pytest

from extranets.data import DATASETS, available, data_dir, download, load

SMALL_SETS = [name for name in DATASETS if name not in ("protein", "year")]


class Server:
    """Serves the bytes in ``files``; those in ``broken`` end half way; ``asked`` lists the paths in order."""

    def __init__(self):
        self.files, self.broken, self.asked = {}, set(), []
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.address = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def handler(server):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.asked.append(self.path)
                if self.path not in server.files:
                    self.send_error(404)
                    return
                body = server.files[self.path]
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if self.path in server.broken else body)

            def log_message(self, *arguments):
                pass

        return Handler


@pytest.fixture
def server(monkeypatch):
    """A server to which the addresses of all sources are redirected, by the number of the source: /0/..., /1/..."""
    server = Server()
    moved = {
        name: tuple(
            dataclasses.replace(source, address=f"{server.address}/{i}/{source.address.rpartition('/')[2]}")
            for i, source in enumerate(sources)
        )
        for name, sources in download.SOURCES.items()
    }
    monkeypatch.setattr(download, "SOURCES", moved)
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture(autouse=True)
def no_other_places(monkeypatch, tmp_path):
    monkeypatch.delenv("EXTRANETS_DATA", raising=False)
    monkeypatch.setenv("EXTRANETS_CACHE", str(tmp_path / "default-cache"))


def path_of(name: str, i: int = 0) -> str:
    return urlsplit(download.SOURCES[name][i].address).path


def zipped(member: str, content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Readme.txt", "1 2 3")
        archive.writestr(member, content)
    return out.getvalue()


# What the originals look like. Rows are lists of text fields, inputs first and the target last.
def blanks(rows: list[list[str]]) -> str:
    return "".join(" " + "  ".join(row) + "\n" for row in rows)


def wine_file(rows):
    names = (
        "fixed acidity,volatile acidity,citric acid,residual sugar,chlorides,free sulfur dioxide,total sulfur dioxide"
    )
    header = [f'"{name}"' for name in [*names.split(","), "density", "pH", "sulphates", "alcohol", "quality"]]
    return "".join(";".join(row) + "\n" for row in [header, *rows])


def protein_file(rows):
    header = [f'"{name}"' for name in ["RMSD", *(f"F{i}" for i in range(1, 10))]]
    return "".join(",".join(row) + "\n" for row in [header, *([row[-1], *row[:-1]] for row in rows)])


def kin8nm_file(rows):
    header = ",".join(f'"{name}"' for name in [*(f"theta{i}" for i in range(1, 9)), "y"])
    return header + "\n" + "".join(", ".join(row) + "\n" for row in rows)


def naval_file(rows):
    return blanks([[*row, "0.975"] for row in rows])  # a second target, which is not used


FILES = {"wine": wine_file, "protein": protein_file, "kin8nm": kin8nm_file, "naval": naval_file}


def serve(server: Server, name: str, rows: list[list[str]], i: int = 0) -> None:
    source = download.SOURCES[name][i]
    content = (FILES.get(name, blanks) if i == 0 else blanks)(rows).encode()
    server.files[path_of(name, i)] = content if source.member is None else zipped(source.member, content)


def random_rows(name: str) -> list[list[str]]:
    info = DATASETS[name]
    values = np.random.RandomState(0).normal(size=(info.rows, info.features + 1)).round(3)
    return [[repr(float(value)) for value in row] for row in values]


def expect(monkeypatch, name: str, rows: list[list[str]]) -> np.ndarray:
    """Make the checksum that of these rows."""
    values = np.array(rows, dtype=np.float64)
    digest = hashlib.sha256(np.ascontiguousarray(values[:, :-1]).tobytes() + values[:, -1].tobytes()).hexdigest()
    monkeypatch.setattr(download, "CHECKSUMS", {name: digest})
    return values


def files_in(folder) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# --- what is fetched


@pytest.mark.parametrize("name", SMALL_SETS)
def test_every_source_becomes_the_table_that_load_reads(server, monkeypatch, tmp_path, name):
    rows = random_rows(name)
    values = expect(monkeypatch, name, rows)
    for i in range(len(download.SOURCES[name])):
        serve(server, name, rows, i)
        root = download.download(name, tmp_path / str(i))
        assert root == tmp_path / str(i)
        table = load(name, root)
        np.testing.assert_array_equal(table.X, values[:, :-1])
        np.testing.assert_array_equal(table.y, values[:, -1])
        del server.files[path_of(name, i)]  # so that the next source is the one that answers


def test_year_is_checked_by_its_file(server, monkeypatch, tmp_path):
    text = b"2001,49.9,21.4\r\n1992,-48.7,18.4\r\n"
    [source] = download.SOURCES["year"]
    right = dataclasses.replace(source, sha256=hashlib.sha256(text).hexdigest())
    monkeypatch.setitem(download.SOURCES, "year", (right,))
    server.files[path_of("year")] = zipped("YearPredictionMSD.txt", text + b"2003,1,2\r\n")
    with pytest.raises(download.DownloadError, match="the file has changed"):
        download.download("year", tmp_path)
    server.files[path_of("year")] = zipped("YearPredictionMSD.txt", text)
    folder = download.download("year", tmp_path) / "year-prediction-msd" / "data"
    assert (folder / "data.txt").read_bytes() == text
    assert (folder / "index_target.txt").read_text() == "0\n"
    assert (folder / "index_features.txt").read_text().split() == [str(c) for c in range(1, 91)]


def test_the_cache_is_used_the_second_time(server, monkeypatch, tmp_path):
    rows = random_rows("yacht")
    expect(monkeypatch, "yacht", rows)
    serve(server, "yacht", rows)
    download.download("yacht", tmp_path)
    assert len(server.asked) == 1
    server.files.clear()
    assert download.download("yacht", tmp_path) == tmp_path
    assert len(server.asked) == 1


def test_only_what_is_missing_is_fetched(server, monkeypatch):
    rows = random_rows("yacht")
    expect(monkeypatch, "yacht", rows)
    serve(server, "yacht", rows)
    begun = []
    for _ in range(2):
        download.download_missing(["yacht"], begin=begun.append)
    assert begun == ["yacht"] and len(server.asked) == 1


def test_the_huge_data_set_is_fetched_only_by_name(monkeypatch):
    asked = []
    monkeypatch.setattr(download, "download", asked.append)  # the real one takes half a gigabyte
    download.download_missing()
    assert "year" not in asked and len(asked) == len(download.DATASETS) - 1
    download.download_missing(["year"])
    assert asked[-1] == "year"


def test_load_downloads_only_when_asked_to(server, monkeypatch, tmp_path):
    rows = random_rows("yacht")
    values = expect(monkeypatch, "yacht", rows)
    serve(server, "yacht", rows)
    elsewhere = tmp_path / "empty"
    elsewhere.mkdir()
    with pytest.raises(FileNotFoundError, match="download=True"):
        load("yacht", elsewhere)
    assert (server.asked, available()) == ([], ())
    np.testing.assert_array_equal(load("yacht", elsewhere, download=True).y, values[:, -1])
    assert len(server.asked) == 1
    assert available() == ("yacht",)
    np.testing.assert_array_equal(load("yacht").y, values[:, -1])  # from the cache, without a data folder
    load("yacht", download=True)
    assert len(server.asked) == 1


def test_a_file_downloaded_by_hand_is_used(server, monkeypatch, tmp_path):
    rows = random_rows("wine")
    expect(monkeypatch, "wine", rows)
    with pytest.raises(download.DownloadError) as caught:
        download.download("wine", tmp_path)
    place = tmp_path / "wine-quality-red" / "wine+quality.zip"
    assert f"Download it by hand from {server.address}/0/wine+quality.zip and put it at {place}" in str(caught.value)
    serve(server, "wine", rows)
    place.write_bytes(server.files.pop(path_of("wine")))
    server.asked.clear()
    assert load("wine", download.download("wine", tmp_path)).X.shape == (1599, 11)
    assert server.asked == []


def test_unknown_name_lists_the_known_ones(tmp_path):
    with pytest.raises(ValueError, match=r"Unknown data set 'bostn'\. Known names: boston, .*, year\."):
        download.download("bostn", tmp_path)


# --- what goes wrong


def test_without_a_network_the_message_says_what_to_do(monkeypatch, tmp_path):
    with socket.socket() as closed:  # bound but not listening: connections are refused
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/housing.data"
        monkeypatch.setattr(download, "SOURCES", {"boston": (download.Source(address, target=13),)})
        with pytest.raises(download.DownloadError) as caught:
            download.download("boston", tmp_path)
    message = str(caught.value)
    assert f"cannot reach {address}: " in message
    assert f"by hand from {address} and put it at {tmp_path / 'bostonHousing' / 'housing.data'}" in message
    assert files_in(tmp_path) == []


def test_a_silent_server_is_given_up_on(monkeypatch, tmp_path):
    monkeypatch.setattr(download, "TIMEOUT", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/housing.data"
        monkeypatch.setattr(download, "SOURCES", {"boston": (download.Source(address, target=13),)})
        with pytest.raises(download.DownloadError, match=r"cannot reach .*timed out"):
            download.download("boston", tmp_path)


def swap_two_rows(rows):
    rows[0], rows[1] = rows[1], rows[0]


def change_one_digit(rows):
    rows[7][3] = repr(float(rows[7][3]) + 0.001)


@pytest.mark.parametrize("change", [swap_two_rows, change_one_digit])
def test_other_values_or_another_order_are_refused(server, monkeypatch, tmp_path, change):
    rows = random_rows("concrete")
    expect(monkeypatch, "concrete", rows)
    change(rows)
    serve(server, "concrete", rows)
    with pytest.raises(download.DownloadError, match=r"values, or their order, differ from the benchmark's \(SHA-256"):
        download.download("concrete", tmp_path)
    assert files_in(tmp_path) == []


def test_the_second_source_is_used_when_the_first_fails(server, monkeypatch, tmp_path):
    rows = random_rows("yacht")
    expect(monkeypatch, "yacht", rows)
    serve(server, "yacht", rows, 1)
    serve(server, "yacht", rows[::-1], 0)
    assert "yacht" in available(download.download("yacht", tmp_path))
    assert server.asked == [path_of("yacht", 0), path_of("yacht", 1)]


@pytest.mark.parametrize("name", ["boston", "wine"])
def test_an_interrupted_download_leaves_nothing(server, monkeypatch, tmp_path, name):
    rows = random_rows(name)
    expect(monkeypatch, name, rows)
    serve(server, name, rows)
    server.broken.add(path_of(name))
    with pytest.raises(download.DownloadError, match=r"the connection broke after \d+ of \d+ bytes"):
        download.download(name, tmp_path)
    assert files_in(tmp_path) == []
    assert available(tmp_path) == ()
    server.broken.clear()
    download.download(name, tmp_path)
    assert available(tmp_path) == (name,)


def test_ctrl_c_leaves_nothing(server, monkeypatch, tmp_path):
    serve(server, "boston", random_rows("boston"))

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "_check", interrupt)
    with pytest.raises(KeyboardInterrupt):
        download.download("boston", tmp_path)
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("boston", b"<html>moved</html>", "the file is not a table"),
        ("boston", b"1 2 3\n4 5 6\n", "2 rows, but boston has 506"),
        ("boston", None, "HTTP Error 404"),
        ("wine", b"1;2;3\n", r"not a zip archive with 'winequality-red\.csv'"),
        ("wine", zipped("winequality-white.csv", b"1;2\n"), r"not a zip archive with 'winequality-red\.csv'"),
    ],
)
def test_a_file_of_another_kind_is_refused(server, tmp_path, name, content, message):
    if content is not None:
        server.files[path_of(name)] = content
    with pytest.raises(download.DownloadError, match=message):
        download.download(name, tmp_path)
    assert files_in(tmp_path) == []


def test_large_files_show_progress_on_standard_error(server, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(download, "LARGE", 1000)
    rows = random_rows("yacht")
    expect(monkeypatch, "yacht", rows)
    serve(server, "yacht", rows)
    download.download("yacht", tmp_path)
    shown = capsys.readouterr()
    assert f"Fetching {server.address}/0/yacht+hydrodynamics.zip (0 MB)" in shown.err
    assert shown.out == ""


# --- the real tables


# SHA-256 of the original files, as published by others.
ORIGINALS = {
    "boston": "baadf72995725d76efe787b664e1f083388c79ba21ef9a7990d87f774184735a",
    "kin8nm": "7b9bf0301ac936d88122557a151e1ba8f1ebc278fcf46d9f3c6d462debdbc8ad",
    "protein": "4277cfcb4e91a181746cbc654f001b57951c9e6a80f4f795fdb5c807e0848f40",
    "wine": "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
}
REAL_DATA = os.environ.get("EXTRANETS_DATA")
needs_data = pytest.mark.skipif(not REAL_DATA, reason="EXTRANETS_DATA is not set: the real data sets are not available")


def real_text(name: str) -> str:
    return gzip.open(data_dir(REAL_DATA) / DATASETS[name].folder / "data" / "data.txt.gz", "rt").read()


@needs_data
@pytest.mark.parametrize("name", list(download.CHECKSUMS))
def test_checksums_are_those_of_the_benchmark(name):
    assert download.checksum(load(name, REAL_DATA)) == download.CHECKSUMS[name]


@needs_data
@pytest.mark.parametrize("name", list(ORIGINALS))
def test_the_originals_hold_the_same_rows(server, tmp_path, name):
    """The benchmark's rows, written in the format of the originals, have the checksums of the originals."""
    rows = [line.split() for line in real_text(name).splitlines()]
    if name == "wine":
        rows = [
            [*row[:9], "2.0" if row[9] == "2" else row[9], *row[10:]] for row in rows
        ]  # one number is written this way
    text = real_text(name) if name == "boston" else FILES[name](rows)
    assert hashlib.sha256(text.encode()).hexdigest() == ORIGINALS[name]
    serve(server, name, rows)
    root = download.download(name, tmp_path)
    assert len(server.asked) == 1
    np.testing.assert_array_equal(load(name, root).X, load(name, REAL_DATA).X)
