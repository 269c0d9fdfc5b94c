"""Other people's programs, which measure what is made here."""
