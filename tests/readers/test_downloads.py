"""Files by URL, corpora of OPUS and archives of Anki, from a server on this machine."""

import gzip
import hashlib
import io
import os
import re
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import datasets
import pytest
from refusals import refused

from glossa.base.errors import GlossaError
from glossa.readers import anki
from glossa.readers.downloads import download, local_paths
from glossa.train.data.arguments import DataArguments
from glossa.train.data.pairs import load_pairs

TEXT = b"".join(b"source %d\ttarget %d\n" % (number, number) for number in range(2000))


def moses(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def etag(body):
    return {"ETag": f'"{hashlib.md5(body).hexdigest()}"'}


def nothing(body):
    return {}


def weak(body):
    return {"ETag": f'W/"{len(body)}"'}


def dated(body):
    return {"Last-Modified": f"Mon, 01 Jan 2024 00:00:{body[-2] % 60:02} GMT"}


def just_now(body):
    return {"Last-Modified": "Fri, 01 Jan 2100 00:00:00 GMT"}  # less than a minute before the answer


@pytest.fixture
def site(monkeypatch, tmp_path):
    """A server of files, which answers ranges.

    `site.cut` is the number of bytes after which it hangs up, and `site.missing` the status for files that it lacks.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            assert self.headers["User-Agent"].startswith("glossa-mt/"), "programs say what they are"
            path, gets = self.path.partition("?")[0], self.command == "GET"
            start = int((re.match(r"bytes=(\d+)-", self.headers.get("Range", "")) or [0, 0])[1])
            if gets:
                self.server.asked.append((self.path, start))
            body = self.server.files.get(path)
            if body is None:
                return self.send_error(self.server.missing)
            tag = self.server.tag(body)
            if start and self.server.conditional and self.headers.get("If-Range") not in (None, *tag.values()):
                start = 0
            if start >= len(body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            first = 0 if self.server.other_range else start
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body) - first))
            for name, value in () if start and self.server.silent else tag.items():
                self.send_header(name, value)
            if start:
                self.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
            self.end_headers()
            if gets:
                self.wfile.write(body[first : self.server.cut])

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.files, server.asked, server.cut, server.missing = {}, [], None, 404
    server.tag, server.conditional = etag, True
    server.silent, server.other_range = False, False
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setattr(datasets.config, "HF_CACHE_HOME", tmp_path / "home")
    monkeypatch.setenv("GLOSSA_OPUS_SERVER", f"{server.url}/")
    monkeypatch.setattr(anki, "PUBLISHER", server.url + "/anki/{code}-eng.zip")
    monkeypatch.setattr(anki, "MIRROR_2019", server.url + "/mirror.zip")
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
        (path,) = local_paths(arguments.sources[0]["data_path"], arguments.languages)
        assert path.endswith("de-en.txt.zip")
        rows = load_pairs(DataArguments(data_path=["opus:Books/v1"], source_language=source, target_language=target))
        assert rows.to_list() == [dict(zip(("source", "target"), pair, strict=True))]
    assert len(site.asked) == 1


@pytest.fixture
def cut(site, monkeypatch):
    """A download that is cut after 5,000 bytes; returns its URL and its part."""
    monkeypatch.setattr("glossa.readers.downloads.time.sleep", lambda _: None)
    monkeypatch.setattr("glossa.readers.downloads.CHUNK", 1000)

    def start(tag=etag):
        site.files["/pairs.tsv"], site.cut, site.tag = TEXT, 5000, tag
        refused(r"pairs.tsv could not be downloaded: .*run the command again", download, f"{site.url}/pairs.tsv")
        site.cut = None
        site.asked.clear()
        return f"{site.url}/pairs.tsv"

    return start


@pytest.mark.parametrize(("tag", "continued"), [(etag, 5000), (dated, 5000), (weak, 0), (just_now, 0), (nothing, 0)])
def test_a_download_that_was_cut_is_continued(site, cut, tag, continued):
    """Only if the server names the version, exactly: otherwise the rest may be of another one."""
    path = download(cut(tag))
    assert path.read_bytes() == TEXT and site.asked == [("/pairs.tsv", continued)]
    assert not list(path.parent.glob("*.part"))


def test_a_server_that_names_no_version_of_a_part_is_asked_for_that_of_the_start(site, cut):
    url, site.silent = cut(), True
    site.files["/pairs.tsv"] = new = TEXT.replace(b"source", b"origin")
    assert download(url).read_bytes() == new


def test_a_part_that_begins_elsewhere_is_not_appended(site, cut):
    url, site.other_range = cut(), True
    assert download(url).read_bytes() == TEXT
    assert site.asked == [("/pairs.tsv", 5000), ("/pairs.tsv", 0)]


@pytest.mark.parametrize("conditional", [True, False])
@pytest.mark.parametrize("tag", [etag, dated, weak, nothing])
def test_a_file_that_changed_between_two_starts_is_not_mixed(site, cut, tag, conditional):
    """Also on a server that ignores If-Range."""
    url, site.conditional = cut(tag), conditional
    site.files["/pairs.tsv"] = new = TEXT.replace(b"source", b"origin")[:-1] + b"!\n"
    assert download(url).read_bytes() == new


@pytest.mark.parametrize("tag", [etag, nothing])
def test_a_file_that_became_shorter_than_its_part_is_downloaded_whole(site, cut, tag):
    url, site.conditional = cut(tag), False
    site.files["/pairs.tsv"] = TEXT[:3000]
    assert download(url).read_bytes() == TEXT[:3000]


def test_a_file_that_changes_while_it_is_downloaded_is_not_mixed(site, monkeypatch):
    """The connection is cut, and the next request of the same start finds another file."""
    monkeypatch.setattr("glossa.readers.downloads.time.sleep", lambda _: None)
    monkeypatch.setattr("glossa.readers.downloads.CHUNK", 1000)
    site.files["/a.tsv"], site.cut = TEXT, 5000
    new = TEXT.replace(b"source", b"origin")

    def change(body):
        if len(site.asked) == 2:
            site.files["/a.tsv"], site.cut = new, None
        return etag(body)

    site.tag = change
    path = download(f"{site.url}/a.tsv")
    assert path.read_bytes() in (TEXT, new)


def test_a_download_that_ends_at_any_line_is_finished_by_the_next_start(site, tmp_path, monkeypatch):
    site.files["/pairs.tsv"], step = TEXT, 0
    ended = True
    while ended:
        step += 1
        monkeypatch.setattr(datasets.config, "HF_CACHE_HOME", tmp_path / str(step))
        ended = ends_at(step, download, f"{site.url}/pairs.tsv")
        path = download(f"{site.url}/pairs.tsv")
        assert path.read_bytes() == TEXT, f"line {step}"
        assert not {other.suffix for other in path.parent.iterdir()} & {".part", ".new"}, f"line {step}"
    assert step > 50


def ends_at(count, function, *arguments):
    """Whether the function was ended at the line with this number among those of its module that it runs."""
    left = count

    def trace(frame, event, _):
        nonlocal left
        if frame.f_code.co_filename != function.__code__.co_filename:
            return None
        left -= event == "line"
        if not left:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*arguments)
        return False
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("known", [True, False])
def test_a_start_that_ended_after_the_last_byte_is_finished(site, cut, known):
    """With the record the part is known to be whole; without it, as of an older version, it is downloaded again."""
    url = cut()
    (part,) = (datasets.config.HF_CACHE_HOME / "glossa").rglob("*.part")
    part.write_bytes(TEXT)
    if not known:
        part.with_name("pairs.tsv.json").unlink()
    assert download(url).read_bytes() == TEXT
    assert site.asked == ([] if known else [("/pairs.tsv", 0)])


@pytest.mark.parametrize("change", [TEXT[:-9] + b"tampered\n", TEXT[:500], b""])
def test_a_copy_that_changed_is_downloaded_again(site, caplog, change):
    site.files["/a.tsv"] = TEXT
    path = download(f"{site.url}/a.tsv")
    path.write_bytes(change)
    os.utime(path, ns=(1, 1))
    assert download(f"{site.url}/a.tsv").read_bytes() == TEXT
    assert "has changed since it was downloaded" in caplog.text and len(site.asked) == 2
    os.utime(path, ns=(2, 2))  # the time alone is no change
    download(f"{site.url}/a.tsv")
    assert len(site.asked) == 2


@pytest.mark.parametrize("tag", [etag, dated, weak, nothing])
def test_a_copy_whose_file_changed_on_the_server_is_kept_with_a_warning(site, caplog, tag):
    site.files["/a.tsv"], site.tag = TEXT, tag
    path = download(f"{site.url}/a.tsv")
    download(f"{site.url}/a.tsv")
    assert not caplog.records
    site.files["/a.tsv"] = new = TEXT[:-5] + b"1!\n"
    assert download(f"{site.url}/a.tsv").read_bytes() == TEXT
    assert f"{site.url}/a.tsv has changed on the server" in caplog.text and str(path) in caplog.text
    path.unlink()
    assert download(f"{site.url}/a.tsv").read_bytes() == new


def test_a_copy_is_used_while_the_server_does_not_answer(site, caplog):
    site.files["/a.tsv"] = TEXT
    download(f"{site.url}/a.tsv")
    del site.files["/a.tsv"]
    assert download(f"{site.url}/a.tsv").read_bytes() == TEXT and not caplog.records
    site.shutdown()
    site.server_close()
    assert download(f"{site.url}/a.tsv").read_bytes() == TEXT and not caplog.records


def test_a_packed_file_stays_packed(site):
    site.files["/a.tsv.gz"] = packed = gzip.compress(TEXT)
    site.tag = lambda body: etag(body) | {"Content-Encoding": "gzip"}
    assert download(f"{site.url}/a.tsv.gz").read_bytes() == packed


def test_a_server_that_always_hangs_up_is_given_up(site, cut, monkeypatch):
    """Each answer begins again and ends elsewhere, so that the part is now longer, now shorter."""
    url = cut(nothing)
    lengths = iter([*([9000, 4000] * 100)])
    site.tag = lambda body: setattr(site, "cut", next(lengths)) or {}
    refused("could not be downloaded", download, url)
    assert len(site.asked) < 20


def test_a_server_that_answers_the_first_request_with_416_is_named(site, cut):
    site.files["/empty.tsv"] = b""
    refused(r"empty.tsv could not be downloaded: .*416", download, f"{site.url}/empty.tsv")


def test_a_copy_of_an_older_version_is_kept(site):
    site.files["/a.tsv"] = TEXT
    path = download(f"{site.url}/a.tsv")
    path.with_name("a.tsv.json").unlink()
    download(f"{site.url}/a.tsv")
    assert len(site.asked) == 1 and path.with_name("a.tsv.json").is_file()


def test_passwords_and_keys_of_a_url_are_not_shown(site, caplog):
    caplog.set_level("INFO")
    address = site.url.replace("//", "//me:pa55word@") + "/a.tsv?token=t0ken&download=1&X-Amz-Signature=s1gn"
    with pytest.raises(GlossaError) as error:
        download(address)
    own = [record.getMessage() for record in caplog.records if record.name.startswith("glossa")]
    shown = f"{error.value} {own}"
    assert "***@127.0.0.1" in shown and "download=1" in shown and "token=***" in shown
    assert not [secret for secret in ("me:", "pa55word", "t0ken", "s1gn") if secret in shown]


def test_what_cannot_be_downloaded_is_named(site):
    refused(r"/nothing.tsv could not be downloaded: .*404.*give its path", download, f"{site.url}/nothing.tsv")
    site.files["/a.zip"] = b"x" * 50
    refused(r"/a.zip: the archive arrived damaged", download, f"{site.url}/a.zip")
    site.files["/a.zip"] = moses(a="b")
    assert download(f"{site.url}/a.zip").is_file(), "the damaged part is gone"


def test_a_wrong_name_of_opus_is_refused():
    refused("'opus:Books' is not a corpus of OPUS", local_paths, ["opus:Books"], ("en", "fr"))


def test_an_archive_of_anki_is_downloaded_from_its_publisher_once(site):
    site.files |= {"/anki/fra-eng.zip": moses(fra="Go.\tVa !\n"), "/mirror.zip": moses(fra="old")}
    for _ in range(2):
        assert anki.download_anki("fr").read_bytes() == site.files["/anki/fra-eng.zip"]
    assert site.asked == [("/anki/fra-eng.zip", 0)]


def test_the_mirror_of_anki_has_an_old_edition_of_french(site, caplog):
    site.files["/mirror.zip"] = moses(fra="Go.\tVa !\n")
    for _ in range(2):
        assert anki.download_anki("fr").read_bytes() == site.files["/mirror.zip"]
    assert [path for path, _ in site.asked] == ["/anki/fra-eng.zip", "/mirror.zip"]
    assert caplog.text.count("the smaller 2019 edition") == 1
    site.files = {"/mirror.zip": b"damaged"}
    for archive in (datasets.config.HF_CACHE_HOME / "glossa").rglob("*.zip"):
        archive.unlink()
    refused(r"fra-eng.zip: .*404.*; .*mirror.zip: the archive arrived damaged", anki.download_anki, "fr")
    refused(r"deu-eng.zip: .*404.*Check the connection, or download deu-eng.zip", anki.download_anki, "de")


@pytest.mark.parametrize("status", [403, 406, 429])
def test_a_publisher_that_refuses_programs(site, status, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _: None)  # between attempts, of the Hub's library
    site.missing = status
    message = (
        rf"{status}.*The site refuses programs\. Download deu-eng.zip in a browser from "
        r"https://www.manythings.org/anki/ and give it: --dataset anki --data_path deu-eng.zip\."
    )
    refused(message, anki.download_anki, "de")


def test_languages_of_anki():
    refused(r"language 'xx'; allowed are .*de.*fr", anki.download_anki, "xx")
    assert anki.other_language("en", "de") == anki.other_language("de", "en") == "de"
    refused(r"source_language is 'de' and target_language is 'fr'", anki.other_language, "de", "fr")
