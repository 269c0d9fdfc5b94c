# The glue between Snakemake and DVC: see crossmodal.records and crossmodal.sharing.
from crossmodal import records, sharing
from crossmodal.files import write_text

if workflow.is_main_process:
    try:
        records.take_over()
    except CrossmodalError as error:
        raise WorkflowError(str(error))
    wanted = sharing.ignored(PARAMS)
    if not sharing.IGNORE.exists() or sharing.IGNORE.read_text() != wanted:
        write_text(sharing.IGNORE, wanted)
        if "DVC_STAGE" in os.environ:  # DVC has read the old one already
            raise WorkflowError(
                f"{sharing.IGNORE} was brought up to date with what the datasets' licences allow; "
                "run the same command again, and commit the file"
            )


onsuccess:
    records.carry()


onerror:
    records.carry()
