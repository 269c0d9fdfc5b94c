# The glue between Snakemake and DVC.
#
# DVC versions the output folders but not Snakemake's records (params, code, checksums, times) of
# the files in them. So each folder carries a `.records.json` with the records of its files; after
# `dvc pull` or `dvc checkout` they are taken over, and Snakemake sees what the machine that made
# the files saw.
import base64
import contextlib

OUTPUTS = ["data", "features", "models", "embeddings", "results"]
STORE, SEEN = Path(".snakemake/metadata"), Path(".snakemake/records-seen.json")


def described(name):
    """The output that a record describes: Snakemake names records by the base64 of its path."""
    parts = (part.removeprefix("@") for part in Path(name).parts)
    return base64.urlsafe_b64decode("".join(parts)).decode()


def carriers():
    """Time of every `.records.json`."""
    found = (path for folder in OUTPUTS for path in Path(folder).rglob(".records.json"))
    return {str(path): path.stat().st_mtime_ns for path in found}


def load_records():
    """Take over the records, and the times, that DVC brought."""
    known = json.loads(SEEN.read_text()) if SEEN.exists() else {}
    for carrier, stamp in carriers().items():
        if known.get(carrier) != stamp:
            for name, record in json.loads(Path(carrier).read_text()).items():
                (STORE / name).parent.mkdir(parents=True, exist_ok=True)
                (STORE / name).write_text(json.dumps(record))
                # a link into DVC's cache, and its target
                for follow in (False, True):
                    with contextlib.suppress(FileNotFoundError, PermissionError):
                        os.utime(described(name), (record["endtime"],) * 2, follow_symlinks=follow)
    SEEN.parent.mkdir(exist_ok=True)
    SEEN.write_text(json.dumps(carriers()))


def save_records():
    """Write the records next to the files they describe."""
    by_folder = {}
    for path in filter(Path.is_file, STORE.rglob("*")):
        name = str(path.relative_to(STORE))
        output = Path(described(name))
        if output.exists() and output.parts[0] in OUTPUTS:
            by_folder.setdefault(output.parent, {})[name] = json.loads(path.read_text())
    for folder, records in by_folder.items():
        carrier, text = folder / ".records.json", json.dumps(records, indent=1, sort_keys=True)
        if not carrier.exists() or carrier.read_text() != text:
            temporary = carrier.with_suffix(".tmp")
            temporary.write_text(text)
            temporary.replace(carrier)  # never through a link into DVC's cache
    SEEN.write_text(json.dumps(carriers()))


if workflow.is_main_process:
    load_records()


onsuccess:
    save_records()


onerror:
    save_records()
