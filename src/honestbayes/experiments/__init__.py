"""The published experiments, one file each, with the published figures beside ours."""
