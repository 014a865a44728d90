"""The one error that is meant for the person at the keyboard."""


class GlossaError(Exception):
    """A mistake in what the user gave: a file, a row, a setting.

    The message says what was wrong (file, line, field, value), what is allowed and what to do. Scripts print
    it without a traceback and exit with status 1; `--debug` brings the traceback back.
    """
