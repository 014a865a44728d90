"""Files by URL and corpora of OPUS, from a server on this machine."""

import io
import re
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import datasets
import pytest

from glossa.data.arguments import DataArguments
from glossa.data.downloads import download, local_paths
from glossa.data.pairs import load_pairs
from glossa.errors import GlossaError

TEXT = b"".join(b"source %d\ttarget %d\n" % (number, number) for number in range(2000))


def moses(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


@pytest.fixture
def site(monkeypatch, tmp_path):
    """A server of files, which answers ranges; `site.cut` is the number of bytes after which it hangs up."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path = self.path.partition("?")[0]
            start = int((re.match(r"bytes=(\d+)-", self.headers.get("Range", "")) or [0, 0])[1])
            self.server.asked.append((self.path, start))
            body = self.server.files.get(path)
            if body is None:
                return self.send_error(404)
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body) - start))
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            self.end_headers()
            self.wfile.write(body[start : self.server.cut])

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.files, server.asked, server.cut = {}, [], None
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(datasets.config, "HF_CACHE_HOME", tmp_path / "home")
    monkeypatch.setenv("GLOSSA_OPUS_SERVER", f"{server.url}/")
    yield server
    server.shutdown()
    server.server_close()


def test_a_url_is_read_like_a_file_and_downloaded_once(site):
    site.files["/data/pairs.tsv"] = TEXT
    url = f"{site.url}/data/pairs.tsv?download=1"
    for _ in range(2):
        pairs = load_pairs(DataArguments(data_path=[url]))
        assert len(pairs) == 2000 and pairs[7] == {"source": "source 7", "target": "target 7"}
    assert site.asked == [("/data/pairs.tsv?download=1", 0)]


def test_two_urls_of_aligned_texts(site):
    site.files |= {"/a.en": b"Go\nRun\n", "/a.fr": b"Va\nCours\n"}
    pairs = load_pairs(DataArguments(data_path=[f"{site.url}/a.en", f"{site.url}/a.fr"]))
    assert pairs.to_list() == [{"source": "Go", "target": "Va"}, {"source": "Run", "target": "Cours"}]


def test_a_corpus_of_opus_is_found_whatever_the_direction(site):
    site.files["/OPUS-Books/v1/moses/de-en.txt.zip"] = moses(**{"Books.de-en.de": "Los\n", "Books.de-en.en": "Go\n"})
    for source, target, pair in (("en", "de", ("Go", "Los")), ("de", "en", ("Los", "Go"))):
        arguments = DataArguments(
            sources=[{"data_path": "opus:Books/v1"}], source_language=source, target_language=target
        )
        (path,) = local_paths(arguments.sources[0]["data_path"], arguments)
        assert path.endswith("de-en.txt.zip")
        rows = load_pairs(DataArguments(data_path=["opus:Books/v1"], source_language=source, target_language=target))
        assert rows.to_list() == [dict(zip(("source", "target"), pair, strict=True))]
    assert len(site.asked) == 1


def test_a_download_that_was_cut_is_continued(site, monkeypatch):
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1000)  # written in whole chunks
    site.files["/pairs.tsv"], site.cut = TEXT, 5000
    with pytest.raises(GlossaError, match=r"pairs.tsv could not be downloaded: .*next start continues"):
        download(f"{site.url}/pairs.tsv")
    site.cut = None
    path = download(f"{site.url}/pairs.tsv")
    assert path.read_bytes() == TEXT and site.asked[-1] == ("/pairs.tsv", 5000)
    assert not list(path.parent.glob("*.part"))


def test_what_cannot_be_downloaded_is_named(site):
    with pytest.raises(GlossaError, match=r"/nothing.tsv could not be downloaded: .*404.*give its path"):
        download(f"{site.url}/nothing.tsv")
    site.files["/a.zip"] = b"x" * 50
    with pytest.raises(GlossaError, match=r"/a.zip: the archive arrived damaged"):
        download(f"{site.url}/a.zip")
    site.files["/a.zip"] = moses(a="b")
    assert download(f"{site.url}/a.zip").is_file(), "the damaged part is gone"


def test_a_wrong_name_of_opus_is_refused(documented):
    with pytest.raises(GlossaError, match="'opus:Books' is no corpus of OPUS") as error:
        local_paths(["opus:Books"], DataArguments())
    documented("Data", error.value)
