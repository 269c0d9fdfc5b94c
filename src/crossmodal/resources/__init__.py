"""What jobs need of a machine, estimated before they run."""
