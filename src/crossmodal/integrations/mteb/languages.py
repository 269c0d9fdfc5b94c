"""Languages as mteb names them."""

from mteb.languages import iso_mappings


def language_and_script(language: str) -> str:
    """Return mteb's name of a language of BCP 47: its codes by ISO 639-3 and ISO 15924."""
    primary, *others = language.split("-")
    name = iso_mappings._hf_lang_to_iso_lang_script(primary)
    code, script = name.split("-") if name else (primary.lower(), "Zyyy")  # undetermined script
    stated = next((part.title() for part in others if len(part) == 4 and part.isalpha()), script)
    return f"{code}-{stated}"
