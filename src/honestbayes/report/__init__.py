"""From a table to an honest report: analysis, verdict, page and files."""
