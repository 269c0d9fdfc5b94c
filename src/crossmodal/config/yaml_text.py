"""What YAML allows and params.yaml must not hold, since it would be lost without a word."""

from pathlib import Path

import yaml

from crossmodal.errors import CrossmodalError


def refuse_repeats(path: Path) -> None:
    """Check that a YAML file has no key twice and no anchor.

    Readers would drop the first one of two keys. DVC writes an override into the one mapping that
    all aliases of an anchor share, so that it changes more than it says, or nothing.

    Raises:
        CrossmodalError: With the lines of both keys or of the anchor, or if the file is no YAML.
    """
    try:
        text = path.read_text(encoding="utf-8")
        anchored = [e for e in yaml.parse(text, yaml.CSafeLoader) if getattr(e, "anchor", None)]
        todo = [] if anchored else [yaml.compose(text, yaml.CSafeLoader)]
    except OSError as error:
        raise CrossmodalError(f"{path}: {error.strerror}; go to the folder that has it") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1
        raise CrossmodalError(f"{path}: line {line}: {error.problem}") from error
    except (ValueError, yaml.YAMLError) as error:
        raise CrossmodalError(f"{path}: {error}") from error
    for event in anchored:
        raise CrossmodalError(
            f"{path}: line {event.start_mark.line + 1}: {event.anchor!r} is an anchor or an alias: "
            "`dvc exp run -S` would change all that share it; name what both have in common with "
            "`base`, or `of` in a group's rows"
        )
    while todo:
        node = todo.pop()
        if isinstance(node, yaml.MappingNode):
            lines: dict[str, int] = {}
            for key, value in node.value:
                name, line = str(key.value), key.start_mark.line + 1
                if lines.setdefault(name, line) != line:
                    raise CrossmodalError(
                        f"{path}: line {line}: key {name!r} is there already, in line "
                        f"{lines[name]}; remove one"
                    )
                todo.append(value)
        elif isinstance(node, yaml.SequenceNode):
            todo += node.value
