"""The one exception whose message is meant for the user."""


class CrossmodalError(Exception):
    """Bad input: the message names the file, key or value and says what to do."""
